import t from 'tap'
import { markdownOf } from '../../../../../load/report/markdown.js'
import { rungTable } from '../../../../../tuning/experiments/ramp/rungs.js'
import { findingsOf, PLAN, runOf, service } from './services.js'

t.test('the disk of a side on a host of its own is shown, as that of a local side is', async (t) => {
  const disk = { read_bytes: 0, written_bytes: 5e6, busy_ratio: 0.5 }
  const records = runOf(PLAN, { a: service(200, 20), b: service(400, 20) }, { noise: 0 })
  const table = (/** @type {Record<string, string>} */ kinds) => {
    const seen = records.map((record) => {
      return { ...record, target: { kind: kinds[record.cell.side] }, probes: { ...record.probes, kernel: { disk } } }
    })
    return markdownOf([rungTable(findingsOf(PLAN, seen).series)])
  }
  const both = table({ a: 'ssh', b: 'url' })
  t.match(both, /\| disk busy \|/)
  t.match(both, /\| A, 8 .*MB\/s \| +50 % \|/)
  t.match(both, /\| B, 8 .*\| +– \| +– \|/, 'a service behind a URL is not seen')
  t.equal(table({ a: 'ssh', b: 'ssh' }), table({ a: 'local', b: 'local' }))
})
