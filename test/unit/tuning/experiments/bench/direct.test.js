import fs from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { createMix, usersOf } from '../../../../../load/generators/mix.js'
import { analyse, bench, design } from '../../../../../tuning/experiments/bench/bench.js'
import { textOf } from '../../../../../tuning/experiments/bench/direct/direct.js'
import {
  addressOf,
  findPgbench,
  parsePgbench,
  scriptOf,
} from '../../../../../tuning/experiments/bench/direct/pgbench.js'
import { caught } from '../../../../support/caught.js'
import { temporaryFolder } from '../../../../support/lab.js'
import { recordsOf } from '../../../../support/simulated/records.js'

/** @import { Serve } from '../../../../support/simulated/service.js' */

/** What pgbench 15 prints. */
const OUTPUT = `pgbench (15.18 (Debian 15.18-0+deb12u1), server 18.4)
transaction type: -
scaling factor: 1
query mode: prepared
number of clients: 20
number of threads: 1
maximum number of tries: 1
duration: 1 s
number of transactions actually processed: 7826
number of failed transactions: 0 (0.000%)
latency average = 1.952 ms
initial connection time = 239.172 ms
tps = 10245.078082 (without initial connection time)
`
const OLDER = `number of transactions actually processed: 100
latency average = 1.000 ms
tps = 50.000000 (including connections establishing)
tps = 200.000000 (excluding connections establishing)
`

t.test('what pgbench prints: the transactions, and their rate while it was connected', async (t) => {
  for (const [about, text, stored, rate_rps] of /** @type {[string, string, number, number][]} */ ([
    ['version 15', OUTPUT, 7826, 10_245.08],
    ['version 13', OLDER, 100, 200],
  ])) {
    const traffic = parsePgbench(text)
    const { planned, sent, completed, status, errors, goodput_rps } = traffic
    t.strictSame([planned, sent, completed, status, errors], [stored, stored, stored, { 201: stored }, {}], about)
    t.equal(goodput_rps, rate_rps, about)
  }
  for (const text of ['', OUTPUT.replace('7826', '0'), OUTPUT.replace(/^tps.*$/m, '')]) {
    t.match(caught(() => parsePgbench(text)).message, /^expected transactions and tps of pgbench, got: /)
  }
})

t.test('pgbench and COPY store the users that a trial sends over HTTP', async (t) => {
  const [mix, trial] = [{ name: 'create-user', method: 'POST', headers: [], body_base64: null, seed: 42 }, 7]
  const bodies = [20, 21].map((i) => JSON.parse(String(createMix(mix, trial)(i).body)))
  const copied = textOf(usersOf(mix, trial), 20, 2)
  t.equal(copied, bodies.map(({ email, password }) => `${email}\t${password}\n`).join(''))
  const script = scriptOf({ mix, trial, connections: 20 })
  const sql = /VALUES \('(.*)', '(.*)'\);\n$/.exec(script)?.slice(1) ?? []
  const filled = sql.map((text) => text.replace("' || :i || '", '20'))
  t.strictSame(filled, [bodies[0].email, bodies[0].password])
})

t.test('the password is not on the command line of pgbench, and a space in the options is not a plus', async (t) => {
  const url = 'postgres://me:s%40cret@127.0.0.1:5432/db?sslmode=disable&options=-c+search_path%3Dlab'
  t.strictSame(addressOf(url), {
    words: 'postgres://me@127.0.0.1:5432/db?sslmode=disable&options=-c%20search_path%3Dlab',
    env: { PGPASSWORD: 's@cret' },
  })
  t.strictSame(addressOf('postgres://me@127.0.0.1/db').env, {})
})

t.test(
  "pgbench is found on PATH, unless it is Debian's wrapper, else among Debian's versions, newest first",
  async (t) => {
    const folder = temporaryFolder(t)
    const versions = path.join(folder, 'versions')
    const program = (/** @type {string} */ name) => {
      const file = path.join(folder, name)
      fs.mkdirSync(path.dirname(file), { recursive: true })
      fs.writeFileSync(file, '', { mode: 0o755 })
      return file
    }
    fs.mkdirSync(path.join(folder, 'bin'))
    fs.symlinkSync(program('pg_wrapper'), path.join(folder, 'bin/pgbench'))
    const onPath = `${folder}/none:${folder}/bin`
    t.equal(findPgbench(onPath, versions), null, 'nowhere')
    program('versions/9.6/bin/pgbench')
    const newest = program('versions/18/bin/pgbench')
    fs.mkdirSync(path.join(versions, '19/bin'), { recursive: true })
    t.equal(findPgbench(onPath, versions), newest, 'newest of those that have it')
    const own = program('own/pgbench')
    t.equal(findPgbench(`${onPath}:${folder}/own`, versions), own, 'on PATH')
  },
)

const plan = /** @type {any} */ ({
  repeats: 2,
  contenders: ['batched', 'pgbench', 'copy'],
  mix: { name: 'create-user', seed: 7 },
  duration_s: 1.5,
})
const rates_rps = /** @type {Record<string, number>} */ ({ batched: 20_000, pgbench: 10_000, copy: 40_000 })

/** @type {Serve} */
const serve = ({ cell }) => ({ ok_rps: rates_rps[String(cell?.contender)], mean_ms: 1 })

t.test(
  'what loads the database directly does so in a closed loop alone, once in each block, in whole seconds',
  async (t) => {
    const direct = recordsOf(plan, design, serve).filter(({ cell }) => cell.contender !== 'batched')
    t.strictSame(
      direct.map(({ at, cell, load }) => [at.block, cell.contender, at.kind, load.connections, load.duration_s]).sort(),
      [0, 1].flatMap((block) => [
        [block, 'copy', 'saturation', 1, 2],
        [block, 'pgbench', 'saturation', 20, 2],
      ]),
    )
  },
)

t.test('the report relates the database without a service to batched, whose answer it leaves alone', async (t) => {
  const records = recordsOf(plan, design, serve)
  const found = analyse(plan, records, { not_applied: [] })
  t.equal(found.problem, null)
  const blocks = bench.report(found)
  t.match(blocks[0], { kind: 'answer', text: /^Most inserts in a closed loop: batched \(.*\), [\d,]+\/s\.$/ })
  const table = blocks.find((block) => block.kind === 'table' && block.name === 'direct')
  t.strictSame(
    /** @type {any} */ (table).rows.map((/** @type {string[]} */ [name, , ratio]) => [name, ratio.slice(0, 4)]),
    [
      ['batched', '1.00'],
      ['pgbench', '0.50'],
      ['copy', '2.00'],
    ],
  )
})

t.test('a bench without pgbench leaves out its row, and has an answer', async (t) => {
  const notApplied = [{ cell: { contender: 'pgbench' }, because: 'not found' }]
  const records = recordsOf(plan, design, serve, { notApplied })
  const found = analyse(plan, records, { not_applied: notApplied })
  t.equal(found.problem, null)
  t.strictSame(
    found.servers.map(({ name }) => name),
    ['batched', 'copy'],
  )
  const alone = { ...plan, contenders: ['pgbench'] }
  t.equal(analyse(alone, [], { not_applied: notApplied }).problem, '0 of 0 closed loops had no valid trial')
})
