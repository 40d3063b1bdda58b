import { readFileSync } from 'node:fs'
import t from 'tap'
import { cellName } from '../../../../load/report/format.js'
import { markdownOf } from '../../../../load/report/markdown.js'
import { PRESETS } from '../../../../tuning/experiments/tune/presets.js'
import { KNOBS, parseKnob } from '../../../../tuning/knobs/knobs.js'
import { distanceInForce } from '../../../../tuning/knobs/means.js'
import { pgbouncerConfig } from '../../../../tuning/knobs/pgbouncer.js'
import { arithmeticBlocks } from '../../../../tuning/pages/more-cores.js'

t.test('every level that is offered is one that the knob accepts', async (t) => {
  const offered = Object.entries(KNOBS).map(([name, { levels }]) => ({ name, levels }))
  const preset = Object.values(PRESETS).map((preset) => preset().knobs)
  for (const knobs of [offered, ...preset]) {
    t.ok(knobs.length > 0)
    const wrong = knobs.flatMap(({ name, levels }) =>
      levels.flatMap((level) => (KNOBS[name].parse(String(level)) === level ? [] : [`${name}=${level}`])),
    )
    t.strictSame(wrong, [])
  }
  t.strictSame(
    offered.filter(({ levels }) => levels.length === 0),
    [],
  )
})

t.test('a knob on the command line', async (t) => {
  t.strictSame(parseKnob('POOL_MAX=5,10'), { name: 'POOL_MAX', levels: [5, 10] })
  t.strictSame(parseKnob('LOG_LEVEL=warn,info').levels, ['warn', 'info'], 'whatever the API takes')
  /** @type {[string, RegExp][]} */
  const wrong = [
    ['POOL_MAX', /expected NAME=LEVEL,LEVEL/],
    ['NOTHING=1', /with one of INSERT_MODE, .* got "NOTHING=1"/],
    ['POOL_MAX=5,x', /a whole number from 1 to 10000, got "x"/],
    ['POOL_MAX=5,5', /each level of POOL_MAX once/],
    ['POOL_MAX=5,05', /each level of POOL_MAX once/],
    ['INSERT_MODE=fast', /one of single, prepared, pipelined, batched/],
    ['NOFILE=700:20000', /expected NOFILE to be a whole number from 32 to 2147483648, got "700:20000"/],
  ]
  for (const [text, message] of wrong) t.throws(() => parseKnob(text), message, text)
})

t.test('statements with a name are followed since 1.21', async (t) => {
  const server = {
    host: '10.0.0.1',
    port: 5432,
    user: 'redline',
    isVerified: true,
    certificates: ['server_tls_ca_file = /f/sslrootcert', 'server_tls_cert_file = /f/sslcert'],
  }
  const config = (/** @type {string} */ version) => {
    return pgbouncerConfig({ server, folder: '/f', port: 6432, pool_size: 7, version })
  }
  t.notMatch(config('1.18.0'), 'max_prepared_statements')
  t.match(config('1.21.0'), 'max_prepared_statements = 200')
  t.match(config('2.0.0'), 'max_prepared_statements = 200')
  t.match(
    config('1.18.0'),
    /server_tls_sslmode = verify-full\nserver_tls_ca_file = \/f\/sslrootcert\nserver_tls_cert_file = \/f\/sslcert\n/,
  )
  t.match(config('1.18.0'), /listen_addr = 127.0.0.1.*default_pool_size = 7/s)
})

t.test('the preset: pools against each other, and every mode where PgBouncer has the fewer connections', async (t) => {
  const { cells, knobs } = PRESETS.pgbouncer()
  t.equal(new Set(cells.map(cellName)).size, 9)
  t.match(cells[0], { INSERT_MODE: 'single', POOL_MAX: 20, PGBOUNCER_POOL: 0 }, 'the anchor is without')
  const others = cells.filter(({ INSERT_MODE }) => INSERT_MODE !== 'single')
  t.ok(others.length > 0 && others.every((one) => one.POOL_MAX === 20 && one.PGBOUNCER_POOL === 4))
  for (const cell of cells)
    t.strictSame(
      Object.keys(cell),
      knobs.map(({ name }) => name),
      'in the order of the knobs',
    )
})

t.test('the arithmetic of more cores: a multiple of the best rate that passed', async (t) => {
  const swept = JSON.parse(readFileSync('tuning/evidence/sweep-batched/run.json', 'utf8'))
  const lines = readFileSync('tuning/evidence/sweep-batched/trials.ndjson', 'utf8').trim().split('\n')
  const sweep = { run: swept, records: lines.map((line) => JSON.parse(line)) }
  const arithmetic = markdownOf(arithmeticBlocks([sweep]))
  t.match(arithmetic, /^Calculated, not measured/)
  const [one, two] = [...arithmetic.matchAll(/^\| *([\d,]+)\/s/gm)].map(([, rate]) => Number(rate.replaceAll(',', '')))
  t.equal(two, 2 * one)
  t.ok(one <= swept.capacity.low_rps)
})

t.test('a longer way to the database counts if it is as long as its proxy can make it', async (t) => {
  for (const [level, found_ms, expected] of /** @type {[number, number, number | string][]} */ ([
    [10, 8.9, '8.9'],
    [10, 9, 10],
    [10, 12.9, 10],
    [10, 13, '13.0'],
    [1, 0.1, '0.1'],
    [1, 0.5, 1],
  ])) {
    t.equal(distanceInForce(level, found_ms), expected, `${found_ms} ms for ${level} ms`)
  }
})
