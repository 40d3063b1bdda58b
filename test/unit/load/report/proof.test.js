import t from 'tap'
import { changeText, undosedTexts } from '../../../../load/report/proof.js'

t.test('a report says once which suspects were not slowed, and why', async (t) => {
  const doses = (/** @type {number} */ taken_ratio) => [
    { suspect: 'Postgres', share: 0, taken_ratio: 0 },
    { suspect: 'Postgres', share: 0.1, taken_ratio },
  ]
  const trial = (/** @type {string} */ resource, /** @type {string | null} */ commit_problem = null) => ({
    limit: { resource },
    load: {},
    target: { kind: 'local' },
    probes: { postgres: { commit_problem } },
  })
  const texts = (/** @type {any[]} */ records) => undosedTexts(records)
  const [ours, others] = [0.1, 0].map((taken_ratio) => ({ ...trial('none-reached'), doses: doses(taken_ratio) }))
  t.strictSame(texts([trial('postgres-cpu'), ours, ours]), [])
  t.strictSame(texts([trial('postgres-cpu'), others, others]), [
    'Not slowed: Postgres, whose processes we may not stop.',
  ])
  const problem = 'fsync is off'
  t.strictSame(texts([trial('postgres-cpu', problem), ours]), [], 'nobody named the commit')
  t.strictSame(texts([trial('postgres-commit'), ours]), [])
  t.strictSame(texts([trial('postgres-commit', problem), trial('postgres-commit', problem), ours]), [
    'Not slowed: the commit, since fsync is off.',
  ])
})

/** @type {[name: string, postgres: object, load: object, texts: string[], kind?: string][]} */
const PLACES = [
  ['Postgres here', { commits: 100, cores: '1' }, {}, []],
  ['no Postgres of ours', {}, {}, []],
  ['Postgres elsewhere', { commits: 100 }, {}, ['Not slowed: Postgres, whose processes this machine cannot see.']],
  [
    'load hosts',
    { commits: 100, cores: '1' },
    { load_hosts: ['ubuntu@a'] },
    ["Not slowed: the load hosts, since the proof's load comes from this machine."],
  ],
  [
    'the service elsewhere',
    { commits: 100, cores: '1' },
    {},
    ["Not slowed: the path to Postgres, since the program that slows it would run on the service's host."],
    'ssh',
  ],
]

t.test('what runs on another machine is not slowed, but for the service', async (t) => {
  const doses = [{ suspect: 'the service', share: 0.1, taken_ratio: 0.1 }]
  for (const [name, postgres, load, texts, kind = 'local'] of PLACES) {
    const searched = /** @type {any} */ ({ limit: null, load, target: { kind }, probes: { postgres } })
    t.strictSame(undosedTexts([searched, { ...searched, doses }, { ...searched, doses }]), texts, name)
  }
})

/** @param {string} suspect @param {number} elasticity @param {number | null} low @param {number | null} high @param {object} [more] */
function one(suspect, elasticity, low, high, more = {}) {
  return { suspect, resource: 'postgres-cpu', elasticity, low, high, pairs: 7, ...more }
}

const EFFECTS = /** @type {const} */ ([
  [one('Postgres', 1, 0.8, 1.2), 'slowing Postgres by 10 % costs 10 % [8–12]'],
  [one('the commit', 0.4, null, null), 'slowing the commit by 10 %: too few pairs to tell'],
  [{ ...one('the commit', 0.4, null, null), undosed: true }, 'not slowing the commit: too few pairs to tell'],
  [one('core 0', 0.5, -0.5, 1.5), 'slowing core 0 by 10 % costs 5 % [-5 to 15]'],
  [one('core 0', 0, 0, 0), 'slowing core 0 by 10 % costs 0 % [0–0]'],
  [one('the generator', -0.4, -1, 0.2), 'slowing the generator by 10 % gains 4 % [-2 to 11]'],
  [one('POOL_MAX x 4', 0.5, 0.4, 0.6, { factor: 4 }), 'POOL_MAX x 4 gains 100 % [74–130] (elasticity 0.5)'],
  [one('POOL_MAX x 4', 0, -0.1, 0.1, { factor: 4 }), 'POOL_MAX x 4 gains 0 % [-13 to 15] (elasticity 0)'],
  [one('POOL_MAX x 4', -0.18, -0.25, -0.1, { factor: 4 }), 'POOL_MAX x 4 costs 22 % [13–29] (elasticity -0.18)'],
  [one('the path', 0.5, 0.4, 0.6, { undosed: true }), 'not slowing the path costs 5 % [4–6]'],
])

t.test('what a dose does is a cost or a gain, never a negative one', async (t) => {
  for (const [elasticity, text] of EFFECTS) t.equal(changeText(elasticity), text)
})
