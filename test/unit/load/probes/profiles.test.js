import fs from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { changesOf, functionOf, profilerIn, readProfiles, stageOf } from '../../../../load/probes/profiles.js'

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
    const sides = {
      base: { profile: profileOf(before, '/a'), root: '/a', cpu_us_per_request: 20 },
      head: { profile: profileOf(after, '/b c'), root: '/b c', cpu_us_per_request: 24 },
    }
    const changed = changesOf(sides, functionOf)
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

t.test('a file or a package is a stage, and so is what Node.js does itself', async (t) => {
  const frames = [
    ['a', 'file:///r/api/users.js'],
    ['b', 'file:///r/api/users.js'],
    ['c', 'file:///r/node_modules/pg/lib/client.js'],
    ['d', 'file:///r/node_modules/@x/y/index.js'],
    ['e', 'file:///r/node_modules/pg/node_modules/z/index.js'],
    ['f', 'node:net'],
    ['writev', ''],
    ['(garbage collector)', ''],
    ['(idle)', ''],
  ]
  const nodes = frames.map(([functionName, url], id) => ({ id, callFrame: { functionName, url, lineNumber: 1 } }))
  const profile = (/** @type {number[]} */ timeDeltas) => ({
    profile: { nodes, samples: nodes.map(({ id }) => id), timeDeltas },
    root: '/r',
    cpu_us_per_request: timeDeltas.slice(0, -1).reduce((sum, one) => sum + one, 0),
  })
  const sides = { base: profile([1, 1, 1, 1, 1, 1, 1, 1, 99]), head: profile([1, 10, 8, 7, 6, 5, 4, 3, 1]) }
  const changed = changesOf(sides, stageOf)
  t.strictSame(
    changed.map(({ name, base_us, head_us }) => [name, Math.round(base_us), Math.round(head_us)]),
    [
      ['api/users.js', 2, 11],
      ['pg', 1, 8],
      ['@x/y', 1, 7],
      ['z', 1, 6],
      ['node:net', 1, 5],
      ['(Node.js itself)', 1, 4],
      ['(garbage collector)', 1, 3],
    ],
  )
})

t.test('the profiles of both sides: of each, the largest file, which is that of the service', async (t) => {
  const files = { 'a.cpuprofile': '{"nodes":[1]}', 'b.cpuprofile': '{"nodes":[1,2,3]}', 'c.txt': 'x'.repeat(99) }
  const folder = t.testdir({ base: files, head: { ...files } })
  for (const side of ['base', 'head']) profilerIn(path.join(folder, side), `/somewhere/${side}`)
  const [profile, costs_us] = [{ nodes: [1, 2, 3] }, { base: 40, head: 44 }]
  t.strictSame(readProfiles(folder, costs_us), {
    base: { profile, root: '/somewhere/base', cpu_us_per_request: 40 },
    head: { profile, root: '/somewhere/head', cpu_us_per_request: 44 },
  })
  t.equal(readProfiles(folder, { base: 40 }), null, 'a cost is not known')
  t.equal(readProfiles(path.join(folder, 'none'), costs_us), null)
  for (const file of ['a.cpuprofile', 'b.cpuprofile']) fs.rmSync(path.join(folder, 'head', file))
  t.equal(readProfiles(folder, costs_us), null)
})
