import { spawn } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { parseCommand } from '../../../load/command/flags.js'
import { main } from '../../../load/run/shell.js'
import { describeMachine, redlineCommit } from '../../../load/system/machine.js'
import { sweep } from '../../../load/verbs/sweep/sweep.js'
import { attempt } from '../../../sql/attempt.js'
import { startOf } from '../../../sql/scratch.js'
import { argvOf, campaignOf } from '../../../tuning/pages/evidence/campaign.js'
import { RUNS } from '../../../tuning/pages/evidence/runs.js'
import * as MEASURING from '../../../tuning/verbs.js'
import { processesOf, temporaryFolder } from '../../support/lab.js'
import { ownPort } from '../../support/servers.js'
import { createShell } from '../../support/shell.js'
import { until } from '../../support/until.js'

const CAMPAIGN = fileURLToPath(new URL('../../../tuning/pages/evidence/campaign.js', import.meta.url))
const SHELL = fileURLToPath(new URL('../../../load/run/shell.js', import.meta.url))
const withoutProc = fs.existsSync('/proc/self/stat') ? false : 'this system has no /proc'
/** @type {Record<string, any>} */
const VERBS = { ...MEASURING, sweep }
/** Less than a run waits for its service, after which it would end anyway. */
const SOON_MS = 20_000

/** @param {string[]} argv */
async function ran(...argv) {
  const shell = createShell()
  const code = await main({ evidence: campaignOf() }, ['evidence', ...argv], shell)
  return { code, ...shell.said }
}

/** @param {string} folder @param {string} name @param {object} run */
function keep(folder, name, run) {
  fs.mkdirSync(`${folder}/${name}`, { recursive: true })
  fs.writeFileSync(
    `${folder}/${name}/run.json`,
    JSON.stringify({ verb: name, versions: { redline_commit: 'another' }, machine: describeMachine(), ...run }),
  )
}

t.test('nothing to adopt is no answer, and no report is announced', async (t) => {
  const folder = temporaryFolder(t)
  const { code, stdout, stderr } = await ran('--out', folder, '--adopt', '--only', 'tune')
  t.equal(code, 1)
  t.match(stderr, /no trustworthy answer: expected finished runs in .*, got none/)
  t.match(stdout, /^\ntune: missing\n/)
  t.notMatch(stdout, /report\.md/)
})

t.test('a second campaign in the same folder is refused', async (t) => {
  const folder = temporaryFolder(t)
  const other = spawn('sleep', ['60'])
  t.teardown(() => other.kill())
  fs.writeFileSync(`${folder}/lock-${other.pid}-${startOf(Number(other.pid))}`, '')
  t.match(await ran('--out', folder, '--only', 'tune'), {
    code: 2,
    stderr: /^redline: --out: expected a folder that no run is using, got .*, which process \d+ is writing to/,
  })
  t.notOk(fs.existsSync(`${folder}/tune`))
})

t.test('evidence of two commits is not mixed, and names that are no run are refused', async (t) => {
  const folder = temporaryFolder(t)
  keep(folder, 'tune', { finished_at: 'then' })
  t.match(await ran('--out', folder, '--only', 'tune,bench'), {
    code: 2,
    stderr:
      /^redline: --out: expected runs of commit .* in .*, got one of commit another on .* \(tune\); go on there, or begin/,
  })
  const mixed = /expected runs of commit .*, got one of commit another on .* \(tune\)/
  t.match(await ran('--out', folder, '--only', 'bench'), { code: 2, stderr: mixed }, 'nor with runs not asked for')
  keep(folder, 'bench', { finished_at: 'then', versions: { redline_commit: 'a third' } })
  t.match(await ran('--out', folder, '--adopt'), {
    code: 2,
    stderr: /expected runs of commit another on .* in .*, got one of commit a third on .* \(bench\)/,
  })
  const foreign = temporaryFolder(t)
  fs.mkdirSync(`${foreign}/bench`)
  fs.writeFileSync(`${foreign}/bench/novel.txt`, 'by somebody')
  t.match(await ran('--out', foreign, '--only', 'bench'), {
    code: 2,
    stderr: /^redline: --out: expected a new or empty folder, got .*bench, which holds novel\.txt/,
  })
  t.ok(fs.existsSync(`${foreign}/bench/novel.txt`))
  t.match(await ran('--only', 'tune,nothing'), { code: 2, stderr: /--only: expected some of sweep-batched,/ })
})

t.test('each run that the pages quote can be made, whole or short', async (t) => {
  t.ok(RUNS.length > 0)
  for (const run of RUNS) {
    const planned = [false, true].map((isQuick) => {
      const [name, ...words] = argvOf(run, isQuick, 7)
      const verb = VERBS[name]
      const sides = { a: {}, b: {} }
      const { given } = parseCommand(
        verb.flags,
        words.filter((word) => !/^--[ab]$|\.env$/.test(word)),
      )
      return verb.plan({ inside: true, ...(run.sides && sides), ...given }, {})
    })
    const [whole, short] = planned
    t.notSame(short, whole, run.name)
    t.strictSame(
      planned.map(({ mix }) => mix.seed),
      [7, 7],
      `${run.name}: with the given seed`,
    )
  }
})

t.test('short runs are not mixed with whole ones, nor adopted', async (t) => {
  const folder = temporaryFolder(t)
  keep(folder, 'tune', { finished_at: 'then', argv: ['--quick', '--out', 'somewhere'] })
  const short = /expected whole runs in .*, got a short one \(tune\); use another folder/
  t.match(await ran('--out', folder, '--only', 'bench'), { code: 2, stderr: short })
  t.match(await ran('--out', folder, '--adopt'), { code: 2, stderr: short })
  t.match(await ran('--adopt', '--quick'), { code: 2, stderr: /--quick: cannot be combined with --adopt/ })
  keep(folder, 'tune', { finished_at: 'then', argv: ['--out', 'somewhere'] })
  t.match(await ran('--out', folder, '--quick'), {
    code: 2,
    stderr: /expected short runs in .*, got a whole one \(tune\)/,
  })
})

t.test('a damaged run is refused by the name of its file, and nothing is removed', async (t) => {
  for (const text of ['{"verb":"tune","ver', 'null', '7', '[]', '{"verb":"tune","versions":{},"finished_at":"then"}']) {
    const folder = temporaryFolder(t)
    const file = `${folder}/tune/run.json`
    fs.mkdirSync(path.dirname(file))
    fs.writeFileSync(file, text)
    for (const argv of [['--only', 'tune'], ['--adopt']]) {
      const { code, stderr } = await ran('--out', folder, ...argv)
      t.equal(code, 2, `${text}: ${stderr}`)
      t.equal(
        stderr,
        `redline: --out: expected a run of Redline in ${file}, got a damaged file: move its folder away\n`,
      )
      t.equal(fs.readFileSync(file, 'utf8'), text)
    }
  }
})

t.test('a version of Node that no run may fetch is refused before anything else', async (t) => {
  for (const major of ['abc', '3', '26.1']) {
    const { code, stderr } = await ran('--node', major, '--adopt', '--out', '/dev/null')
    t.equal(code, 2, stderr)
    t.match(stderr, /^redline: --node: expected one of (\d+, )*22(, \d+)*, got "/)
  }
})

t.test('evidence of two machines is not mixed, even of one commit', async (t) => {
  const folder = temporaryFolder(t)
  const versions = { redline_commit: await redlineCommit() }
  keep(folder, 'tune', { finished_at: 'then', versions })
  const other = { ...describeMachine(), cpu_model: 'Another CPU' }
  keep(folder, 'bench', { finished_at: 'then', versions, machine: other })
  const said = {
    code: 2,
    stderr: /expected runs of commit .* on .* in .*, got one of .* on Another CPU with \d+ cores \(bench\)/,
  }
  t.match(await ran('--out', folder, '--only', 'tune'), said)
  t.match(await ran('--out', folder, '--adopt'), said)
  fs.rmSync(`${folder}/bench`, { recursive: true })
  const node = process.versions.node.split('.')[0]
  t.match(
    await ran('--out', folder, '--only', 'tune', '--node', node),
    { code: 0, stdout: /^\ntune: finished\n/ },
    'alone it is fine',
  )
})

t.test('kill -9 of a campaign ends the run that it is measuring', { skip: withoutProc }, async (t) => {
  const folder = temporaryFolder(t)
  const port = await ownPort()
  const start = `cd ${folder} && touch begun && exec sleep 300`
  const argv = ['sweep', '--url', `http://127.0.0.1:${port}/`, '--start', start]
  const node = process.versions.node.split('.')[0]
  fs.writeFileSync(
    `${folder}/campaign.mjs`,
    `import { campaignOf } from '${CAMPAIGN}'
import { main } from '${SHELL}'
const runs = ${JSON.stringify([{ name: 'first', minutes: 1, argv }])}
await main({ evidence: campaignOf(runs) }, ['evidence', '--seed', '7', '--node', '${node}', '--out', '${folder}/runs'])`,
  )
  const campaign = spawn(process.execPath, [`${folder}/campaign.mjs`], { stdio: ['ignore', 'ignore', 'pipe'] })
  t.teardown(() => campaign.kill('SIGKILL'))
  let said = ''
  campaign.stderr.setEncoding('utf8').on('data', (chunk) => {
    said += chunk
  })
  const isWaiting = () => fs.existsSync(`${folder}/begun`)
  await until('the run to wait for its service', () => isWaiting() || campaign.exitCode !== null)
  t.ok(isWaiting() && processesOf(folder).length > 1, `the campaign measures: ${said}`)
  const commands = processesOf(folder).map((pid) =>
    attempt(() => fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' '), 'ended by now'),
  )
  t.ok(
    commands.some((command) => command.includes('sweep --url') && command.includes(' --seed 7 --out ')),
    `with the seed of the campaign: ${commands}`,
  )
  campaign.kill('SIGKILL')
  await until('no process to be left', () => processesOf(folder).length === 0, SOON_MS)
  t.pass('neither the run nor its service is left')
})
