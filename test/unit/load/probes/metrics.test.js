import v8 from 'node:v8'
import vm from 'node:vm'
import t from 'tap'
import { coreShares, trackingDrops } from '../../../../load/probes/kernel.js'
import { parseMetrics } from '../../../../load/probes/metrics.js'

t.test('a page in Prometheus’ format is read by name and by label', async (t) => {
  const text = [
    '# HELP answers_total Answers',
    'answers_total{status="201"} 5',
    'answers_total{status="503",limit="a \\"b\\" {c}\\n"} 2 1700000000',
    'up 1',
    'empty NaN',
    '',
    'not a metric',
  ].join('\n')
  const metrics = parseMetrics(text, ['answers_total', 'up', 'down', 'empty', 'not'])
  t.equal(metrics.sum('answers_total'), 7)
  t.strictSame(metrics.by('answers_total', 'status'), { 201: 5, 503: 2 })
  t.strictSame(metrics.by('answers_total', 'limit'), { '': 5, 'a "b" {c}\n': 2 })
  t.strictSame(metrics.labels('answers_total'), { status: '201' })
  for (const [name, value] of Object.entries({ up: 1, down: null, empty: null, not: null })) {
    t.equal(metrics.sum(name), value, name)
  }
})

t.test('values that cannot be, and lines that are malformed, count as absent', async (t) => {
  const values = ['NaN', '+Inf', '-Inf', '1e999', '-1', '', 'x', '0x', '1 x', '9'.repeat(400), '"1"', '1 2 3']
  for (const value of values) t.equal(parseMetrics(`a ${value}`, ['a']).sum('a'), null, value)
  const lines = [
    'a',
    'a{',
    'a{}',
    'a{b} 1',
    'a{b="} 1',
    'a{b="c" 1',
    'a{b="c"d="e"} 1',
    'a{="c"} 1',
    'a{b=c} 1',
    '{} 1',
  ]
  for (const line of lines) t.equal(parseMetrics(line, ['a', '']).sum('a'), null, line)
  t.equal(parseMetrics('a{b="1"} 1\na{b="1"} 3\na{b="2"} 4', ['a']).sum('a'), 7, 'of two lines for one series the last')
  t.equal(parseMetrics('a{b="1"} 1e308\na{b="2"} 1e308', ['a']).sum('a'), null, 'a sum that is not finite')
  t.equal(parseMetrics('a{} 1\r\nb{c="d",} 2', ['a', 'b']).sum('b'), 2, 'a comma behind the last label')
})

t.test('a hostile page is parsed in linear time', async (t) => {
  const times = (/** @type {string} */ part) => part.repeat(2 ** 20 / part.length)
  const pages = ['a', '{', '"', 'a{', 'a{b="', 'a{b="\\', 'a{b="c",', 'a 1\n', 'a{b="1"} ', '\n', 'b 1\n', ' ', 'a{b']
  for (const page of pages.flatMap((part) => [times(part), `a{${times(part)}`, `a{b="${times(part)}"} 1`])) {
    const before = process.cpuUsage()
    try {
      parseMetrics(page, ['a'])
    } catch (error) {
      t.match(error, { message: /^expected at most 1000 lines/ })
    }
    // Of this CPU, whoever else is busy; quadratic, it would take many minutes.
    const took_s = process.cpuUsage(before).user / 1e6
    t.ok(took_s < 10, `${JSON.stringify(page.slice(0, 20))}: ${took_s} s`)
  }
})

t.test('nothing is kept of a page but what was wanted of it', async (t) => {
  v8.setFlagsFromString('--expose-gc')
  const gc = vm.runInNewContext('gc')
  const page = (/** @type {number} */ i) =>
    Buffer.from(`a{name="a long value ${i}"} 1\n`.padEnd(2 ** 20, 'unwanted 1\n')).toString()
  gc()
  const before = process.memoryUsage().heapUsed
  const kept = Array.from({ length: 20 }, (_, i) => parseMetrics(page(i), ['a']))
  gc()
  const kept_bytes = process.memoryUsage().heapUsed - before
  t.ok(kept_bytes < 4 * 2 ** 20, `${kept_bytes} bytes are kept of 20 pages of 1 MiB`)
  t.equal(kept.length, 20)
})

t.test('the time of a core is shared out among processes, interrupts and the host', async (t) => {
  const before = { 0: [100, 0, 50, 800, 0, 10, 30, 10, 0, 0] }
  const now = { 0: [140, 0, 60, 830, 0, 15, 35, 20, 0, 0] }
  t.strictSame(coreShares(before, now), { 0: { busy_ratio: 0.5, interrupts_ratio: 0.1, steal_ratio: 0.1 } })
  t.strictSame(
    coreShares(before, before)[0],
    { busy_ratio: 0, interrupts_ratio: 0, steal_ratio: 0 },
    'no time, no share',
  )
})

t.test('packets that connection tracking dropped are counted on all CPUs', async (t) => {
  const text = [
    'entries  found drop early_drop',
    '0000000f  00000000 0000000a 00000001',
    '0000000f  00000000 00000006 00000001',
    '',
  ]
  t.equal(trackingDrops(text.join('\n')), 16)
  t.equal(trackingDrops(''), 0, 'without the module')
})
