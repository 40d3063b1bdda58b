/**
 * A fixed piece of work, typical of a Node service: parses half a megabyte of JSON, keeps it in objects and writes it again. Prints the
 * CPU time in milliseconds, the median of several runs.
 */

const ROWS = 8000
/** Number of first runs that do not count, since V8 compiles the code in them. */
const COLD_TIMES = 2
const TIMES = 5

const text = JSON.stringify(
  Array.from({ length: ROWS }, (_, id) => ({ id, name: `name ${id}`, email: `${id}@example.com` })),
)

function work() {
  const byEmail = new Map(JSON.parse(text).map((/** @type {{ email: string }} */ row) => [row.email, row]))
  return JSON.stringify([...byEmail.values()]).length
}

const times_ms = Array.from({ length: COLD_TIMES + TIMES }, () => {
  const start_us = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(start_us)
  return (user + system) / 1000
})
const sorted = times_ms.slice(COLD_TIMES).sort((a, b) => a - b)
process.stdout.write(String(sorted[Math.floor(TIMES / 2)]))
