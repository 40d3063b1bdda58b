import t from 'tap'
import { undosedTexts } from '../../../../load/report/proof.js'

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
