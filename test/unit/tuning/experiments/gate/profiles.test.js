import fs from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { changedFunctions, readProfile } from '../../../../../tuning/experiments/gate/profiles.js'

/** @param {Record<string, number>} times_us by function @param {string} root */
function profileOf(times_us, root) {
  const names = Object.keys(times_us)
  const nodes = names.map((functionName, id) => {
    const url = functionName.startsWith('(') ? '' : `file://${root}/src/app.js`
    return { id, callFrame: { functionName, url, lineNumber: id } }
  })
  return { nodes, samples: nodes.map(({ id }) => id), timeDeltas: names.map((name) => times_us[name]) }
}

t.test(
  'the functions whose share of a request has changed most come first, whatever their checkout and their line',
  async (t) => {
    const before = { handle: 100, parse: 50, '(garbage collector)': 50, '(idle)': 10_000 }
    const after = { '(idle)': 1, handle: 120, '': 40, parse: 40, '(garbage collector)': 40 }
    const changed = changedFunctions({
      base: { profile: profileOf(before, '/a'), root: '/a', cpu_us_per_request: 20 },
      head: { profile: profileOf(after, '/b c'), root: '/b c', cpu_us_per_request: 24 },
    })
    t.strictSame(
      changed.map(({ name, base_us, head_us }) => [name, Math.round(base_us), Math.round(head_us)]),
      [
        ['(anonymous) (src/app.js)', 0, 4],
        ['handle (src/app.js)', 10, 12],
        ['parse (src/app.js)', 5, 4],
        ['(garbage collector)', 5, 4],
      ],
    )
  },
)

t.test('the largest profile of a folder is the one of the service', async (t) => {
  const folder = t.testdir({
    'a.cpuprofile': '{"nodes":[1]}',
    'b.cpuprofile': '{"nodes":[1,2,3]}',
    'c.txt': 'x'.repeat(99),
  })
  t.strictSame(readProfile(folder), { nodes: [1, 2, 3] })
  t.equal(readProfile(path.join(folder, 'none')), null)
  fs.rmSync(path.join(folder, 'a.cpuprofile'))
  fs.rmSync(path.join(folder, 'b.cpuprofile'))
  t.equal(readProfile(folder), null)
})
