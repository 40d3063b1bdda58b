-- Follows a mix (Program in load/generators/mix.js) and counts what becomes of it. The driver writes four globals above this:
-- program, first (number of the first request), threads and result_file.

local ffi = require("ffi")
local bit = require("bit")
local band, bor, bxor, rshift, tobit = bit.band, bit.bor, bit.bxor, bit.rshift, bit.tobit

ffi.cdef([[
  typedef struct { long s; long ns; } redline_time;
  int clock_gettime(int clock, redline_time *now);
  typedef struct { uint64_t count, limit, min, max, data[]; } redline_stats;
]])

local MONOTONIC = 1
local clock = ffi.new("redline_time")

local function now_s()
  ffi.C.clock_gettime(MONOTONIC, clock)
  return tonumber(clock.s) + tonumber(clock.ns) / 1e9
end

-- load/system/random.js in Lua, whose numbers are doubles and whose bit operations are of 32 bits.

local STEP = 0x6d2b79f5

local function imul(a, b)
  local high = band(tobit(a * rshift(b, 16)), 0xffff)
  return tobit(tobit(a * band(b, 0xffff)) + high * 65536)
end

local function random_at(seed, n)
  local state = tobit(seed + imul(tobit(n + 1), STEP))
  local mixed = imul(bxor(state, rshift(state, 15)), bor(1, state))
  mixed = bxor(tobit(mixed + imul(bxor(mixed, rshift(mixed, 7)), bor(61, mixed))), mixed)
  return (bxor(mixed, rshift(mixed, 14)) % 4294967296) / 4294967296
end

-- load/generators/template.js in Lua.

local WORDS = 26 ^ 6

local function word(number)
  local letters = {}
  for i = 1, 6 do
    letters[i] = string.char(97 + number % 26)
    number = math.floor(number / 26)
  end
  return table.concat(letters)
end

local function whole(number)
  return string.format("%.0f", number)
end

local function fill(parts, index, n)
  local texts = {}
  for i, part in ipairs(parts) do
    if type(part) == "string" then
      texts[i] = part
    elseif part.fill == "index" then
      texts[i] = whole(index)
    elseif part.fill == "seq" then
      texts[i] = whole(program.first_seq + index)
    elseif part.fill == "data" then
      texts[i] = part.values[(program.first_seq + index) % #part.values + 1]
    else
      local drawn = random_at(program.seed, n)
      n = n + 1
      if part.fill == "word" then
        texts[i] = word(math.floor(drawn * WORDS))
      else
        texts[i] = whole(part.min + math.floor(drawn * (part.max - part.min + 1)))
      end
    end
  end
  return table.concat(texts), n
end

local function entry_at(n)
  local entries = program.entries
  if #entries == 1 then return entries[1] end
  local drawn = random_at(program.seed, n)
  for _, entry in ipairs(entries) do
    if drawn < entry.up_to then return entry end
  end
end

local function request_at(index)
  local n = index * program.draws
  local entry = entry_at(n)
  local path, body
  path, n = fill(entry.path, index, n + 1)
  body = fill(entry.body, index, n)
  local length = (#body == 0 and entry.bodiless) and "" or "Content-Length: " .. #body .. "\r\n"
  return entry.method .. " " .. path .. " " .. entry.head .. length .. "\r\n" .. body
end

-- In each thread. setup() has set its number.

function init()
  -- wrk asks the first thread for a request that it does not send, to see whether it is one.
  tried = number > 0
  sent = 0
  status = {}
  seconds = {}
end

function request()
  local text = request_at(first + number + sent * threads)
  if not tried then
    tried = true
    return text
  end
  began_s = began_s or now_s()
  sent = sent + 1
  return text
end

function response(code)
  status[code] = (status[code] or 0) + 1
  -- Two rows for each second: other answers, and the successes.
  local row = math.floor(now_s() - began_s) * 2
  if code >= 200 and code < 300 then row = row + 1 end
  seconds[row] = (seconds[row] or 0) + 1
end

-- In the main thread.

local all = {}

function setup(thread)
  thread:set("number", #all)
  table.insert(all, thread)
end

local function add(sums, more)
  for key, count in pairs(more) do sums[key] = (sums[key] or 0) + count end
end

local function object(counts)
  local rows = {}
  for key, count in pairs(counts) do table.insert(rows, string.format('"%d":%.0f', key, count)) end
  return "{" .. table.concat(rows, ",") .. "}"
end

-- Microseconds and how often each: from wrk's memory, since latency(i) begins from the first value every time.
local function histogram(latency)
  local stats = ffi.cast("redline_stats **", latency)[0]
  if tonumber(stats.min) ~= latency.min or tonumber(stats.max) ~= latency.max then
    error("expected the statistics as wrk 4 keeps them")
  end
  local rows = {}
  for us = tonumber(stats.min), tonumber(stats.max) do
    local count = tonumber(stats.data[us])
    if count > 0 then table.insert(rows, string.format("[%.0f,%.0f]", us, count)) end
  end
  return "[" .. table.concat(rows, ",") .. "]"
end

function done(summary, latency)
  local total, most, statuses, per_second = 0, 0, {}, {}
  for _, thread in ipairs(all) do
    local own = thread:get("sent")
    total = total + own
    most = math.max(most, own)
    add(statuses, thread:get("status"))
    add(per_second, thread:get("seconds"))
  end
  local errors = summary.errors
  local rows = summary.requests > errors.timeout and histogram(latency) or "[]"
  local file = io.open(result_file, "w")
  file:write(string.format('{"sent":%.0f,"most":%.0f,"requests":%.0f,', total, most, summary.requests))
  file:write(string.format('"duration_us":%.0f,', summary.duration))
  file:write(string.format('"connect":%.0f,"read":%.0f,', errors.connect, errors.read))
  file:write(string.format('"write":%.0f,"timeout":%.0f,', errors.write, errors.timeout))
  file:write('"status":', object(statuses), ',"seconds":', object(per_second), ',"histogram":', rows, "}")
  file:close()
end
