import t from 'tap'
import { NotReady, RemoteError, ServiceEnded, UsageError } from '../../../../load/command/errors.js'
import { main } from '../../../../load/run/shell.js'
import { DatabaseError } from '../../../../sql/database.js'
import { createShell } from '../../../support/shell.js'

/**
 * @import { Action } from '../../../../load/run/experiment.js'
 * @import { Shell } from '../../../../load/run/shell.js'
 */

const RUN = { verb: 'made-up', plan: {}, problem: null, interrupted: false }
const ENDED = { run: RUN, text: 'a **text**', folder: 'results/1' }

/**
 * Runs a verb that does what it is told.
 * @param {(...args: Parameters<Action['run']>) => any} run
 * @param {string[]} [argv]
 * @param {Partial<Shell>} [given]
 */
async function ran(run, argv = [], given = {}) {
  const shell = createShell({ env: { POOL_MAX: '3' }, ...given })
  const flags = { rates: { value: 'N', about: 'how many' }, resume: { value: 'DIR', about: 'go on' } }
  const verb = { about: 'nothing', flags, examples: '  made up', run }
  const code = await main({ 'made-up': verb }, ['made-up', ...argv], shell)
  return { code, ...shell.said }
}

t.test('what every object has is no verb', async (t) => {
  for (const name of ['toString', 'constructor', '__proto__', undefined]) {
    const shell = createShell()
    t.equal(await main({}, name === undefined ? [] : [name], shell), 2, String(name))
    t.equal(shell.said.stderr, `redline: expected one of these verbs, got ${name ?? 'none'}\n`)
  }
})

t.test('a mistyped verb gets a suggestion, and something like a URL gets a hint on how URLs begin', async (t) => {
  const sweep = { about: '', flags: {}, examples: '', run: async () => ENDED }
  const verbs = { sweep, generators: { ...sweep, script: 'bench:generators' } }
  const table = '  npm run sweep              \n  npm run bench:generators   \n'
  const ofUrl = ' (a URL begins with http:// or https://)'
  for (const [given, hint] of [
    ['swep', ' (did you mean sweep?)'],
    ['bench:generater', ' (did you mean bench:generators?)'],
    ['report', null],
    ['my:script', null],
    ['api.test/user?key=hunter2', ofUrl],
    ['localhost:8080', ofUrl],
    ['127.0.0.1', ofUrl],
  ]) {
    const shell = createShell()
    t.equal(await main(verbs, [String(given)], shell), 2)
    const shown = String(given).replace('hunter2', '(withheld)')
    const said = hint ? `expected a verb, got ${shown}${hint}\n` : `expected one of these verbs, got ${shown}\n${table}`
    t.equal(shell.said.stderr, `redline: ${said}`)
  }
})

t.test('--help in place of a verb names the verbs, and is no mistake', async (t) => {
  const verb = { about: 'it is made up', flags: {}, examples: '', run: async () => ENDED }
  for (const flag of ['--help', '-h']) {
    const shell = createShell()
    t.equal(await main({ one: verb, 'the-other': { ...verb, script: 'other' } }, [flag], shell), 0)
    t.match(shell.said.stdout, '  npm run one     it is made up\n  npm run other   it is made up\n')
    t.equal(shell.said.stderr, '')
  }
})

t.test('native Windows is sent to WSL, before anything else', async (t) => {
  const shell = createShell({ platform: 'win32' })
  t.equal(await main({}, ['--help'], shell), 2)
  t.equal(
    shell.said.stderr,
    'redline: expected Linux or macOS, got native Windows: use WSL (in PowerShell: wsl --install)\n',
  )
})

t.test('a URL in place of a verb is the target of a sweep', async (t) => {
  const url = 'http://127.0.0.1:8080/orders?page=1'
  /** @type {any} */
  let command
  const text = { value: 'TEXT', about: '' }
  const sweep = {
    ...{ about: '', examples: '', flags: { url: text, rates: text, method: text, body: text, replay: text } },
    run: async (/** @type {any} */ given) => {
      command = given
      return ENDED
    },
  }
  t.equal(await main({ sweep }, [url, '--rates', '5'], createShell()), 0)
  t.strictSame({ ...command.given }, { url, rates: '5', method: 'GET' })
  t.strictSame(command.argv, ['--url', url, '--rates', '5', '--method', 'GET'])
  t.equal(await main({ sweep }, [url, '--body={}'], createShell()), 0)
  t.strictSame({ ...command.given }, { url, body: '{}' }, 'a body is sent as the sweep would')
  t.equal(await main({ sweep }, [url, '--replay', 'access.log'], createShell()), 0)
  t.strictSame({ ...command.given }, { url, replay: 'access.log' }, 'a log has its own methods')
})

t.test('a URL after a verb that takes one is its target, loaded by GET like a URL without a verb', async (t) => {
  const url = 'http://127.0.0.1:8080/orders?page=1'
  /** @type {any} */
  let given
  const text = { value: 'TEXT', about: '' }
  const run = async (/** @type {any} */ command) => {
    given = { ...command.given }
    return ENDED
  }
  const sweep = { about: 'it', examples: '', flags: { url: text, rates: text, method: text, body: text }, run }
  const verbs = { sweep, other: { about: '', examples: '', flags: { rates: text }, run } }
  for (const [argv, expected] of /** @type {[string[], object][]} */ ([
    [['sweep', url, '--rates', '5'], { url, rates: '5', method: 'GET' }],
    [['sweep', url, '--method', 'PUT'], { url, method: 'PUT' }],
    [['sweep', '--url', url], { url }],
  ])) {
    t.equal(await main(verbs, argv, createShell()), 0)
    t.strictSame(given, expected, argv.join(' '))
  }
  const help = createShell()
  t.equal(await main(verbs, ['sweep', '--help'], help), 0)
  t.match(help.said.stdout, /^npm run sweep -- \[URL\] \[flags\]\n/)
  const shell = createShell()
  t.equal(await main(verbs, ['other', url], shell), 2)
  t.match(shell.said.stderr, `expected only flags, got "${url.replace(/1$/, '(withheld)')}"`)
})

t.test('a verb is found by the name of its npm script, too', async (t) => {
  const flags = { rates: { value: 'N', about: '' } }
  const generators = { about: 'it', script: 'bench:generators', flags, examples: '', run: async () => ENDED }
  for (const name of ['generators', 'bench:generators']) {
    t.equal(await main({ generators }, [name], createShell()), 0, name)
  }
  const env = { npm_lifecycle_event: 'bench:generators', npm_config_rates: '5' }
  const shell = createShell({ env })
  t.equal(await main({ generators }, ['bench:generators'], shell), 2)
  t.equal(shell.said.stderr, 'redline: npm took --rates for itself: write npm run bench:generators -- --rates …\n')
})

t.test('a run that answers exits 0, its text and its folder on stdout', async (t) => {
  const folder = t.testdir({ 'report.md': '', 'report.html': '' })
  const { code, stdout, stderr } = await ran(
    ({ given, argv }, { environment }) => {
      t.strictSame({ ...given }, { rates: '1' })
      t.strictSame(argv, ['--rates', '1'])
      t.equal(environment.forApi.POOL_MAX, '3')
      return { ...ENDED, folder }
    },
    ['--rates', '1'],
  )
  t.equal(code, 0)
  t.equal(stdout, `\na **text**\n\n${folder}/report.md\n${folder}/report.html\n`)
  t.equal(stderr, '')
})

t.test('a report that could not be written is not listed', async (t) => {
  const folder = t.testdir({ 'report.md': '' })
  t.equal((await ran(() => ({ ...ENDED, folder }))).stdout, `\na **text**\n\n${folder}/report.md\n`)
})

t.test('--json prints the run and nothing else', async (t) => {
  const { stdout } = await ran(() => ENDED, ['--json'])
  t.strictSame(JSON.parse(stdout), { ...RUN, folder: 'results/1' })
  const { stdout: unkept } = await ran(() => ({ ...ENDED, folder: null }), ['--json'])
  t.strictSame(JSON.parse(unkept), RUN)
})

t.test('what keeps nothing names no folder', async (t) => {
  t.equal((await ran(() => ({ ...ENDED, folder: null }))).stdout, '\na **text**\n')
})

t.test('--help wins over all other flags', async (t) => {
  const { code, stdout } = await ran(() => t.fail('the verb ran'), ['--rates', 'x', '--help'])
  t.equal(code, 0)
  t.match(
    stdout,
    /^npm run made-up -- \[flags\]\n\nNothing\n\nFlags:\n +--rates N +how many\n[\s\S]*Examples:\n {2}made up\n$/,
  )
})

t.test('a run without a trustworthy answer exits 1 and says why', async (t) => {
  const { code, stderr } = await ran(() => ({ ...ENDED, run: { ...RUN, problem: 'too noisy' } }))
  t.equal(code, 1)
  t.equal(stderr, 'redline: no trustworthy answer: too noisy\n')
  const ended = async (/** @type {number} */ exit_code) => {
    return (await ran(() => ({ ...ENDED, run: { ...RUN, exit_code, problem: 'too noisy' } }))).code
  }
  t.equal(await ended(3), 3, 'a gate that does not know says so')
  t.equal(await ended(0), 1, 'and without an answer, nothing is in order')
})

t.test('an interrupted run exits 130 and says how to go on', async (t) => {
  const { code, stdout, stderr } = await ran(() => ({
    ...ENDED,
    run: { ...RUN, interrupted: true, problem: 'x' },
    text: null,
  }))
  t.equal(code, 130)
  t.equal(stdout, '', 'nothing was measured')
  t.equal(stderr, 'interrupted; go on with: npm run made-up -- --resume results/1\n')
  const given = await ran(() => ({
    ...ENDED,
    run: { ...RUN, interrupted: true, database: { kind: 'given' } },
    text: null,
  }))
  t.match(given.stderr, /--resume results\/1 --database-url URL\n$/)
})

t.test('a run that broke off exits 1, says why, and how to go on', async (t) => {
  const problem = 'the run broke off: Postgres has gone'
  const { code, stderr } = await ran(() => ({ ...ENDED, run: { ...RUN, problem }, text: null }))
  t.equal(code, 1)
  t.equal(stderr, `redline: no trustworthy answer: ${problem}; go on with: npm run made-up -- --resume results/1\n`)
})

t.test('whatever fails in an interrupted run is no problem of its own', async (t) => {
  const controller = new AbortController()
  const fails = () => {
    controller.abort()
    throw new Error('cut off')
  }
  const { code, stderr } = await ran(fails, [], { signal: controller.signal })
  t.equal(code, 130)
  t.equal(stderr, '')
})

const FULL = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })

/** @type {[string, Error, number, RegExp][]} */
const FAILURES = [
  ['a wrong command line', new UsageError('--rates: expected 1, got x'), 2, /^redline: --rates: expected 1, got x\n$/],
  ['a wrong database', new DatabaseError('no such schema'), 2, /^redline: no such schema\n$/],
  [
    'a service that ended',
    new ServiceEnded('the API', 1, null, 'oops'),
    1,
    /^redline: the API ended unexpectedly \(code 1\); its last output: oops\n$/,
  ],
  [
    'a service that was not ready in time',
    new NotReady('the service was not ready within 60 s; its last output: booting'),
    1,
    /^redline: the service was not ready within 60 s; its last output: booting\n$/,
  ],
  ['another host', new RemoteError('no route'), 1, /^redline: no route\n$/],
  ['what the system refuses', FULL, 1, /^redline: ENOSPC: no space left on device, write\n$/],
  [
    'our own mistake, with its stack',
    new TypeError('x is not a function'),
    1,
    /^redline: TypeError: x .*\n +at .*shell\.test\.js/,
  ],
]

for (const [what, error, expected, message] of FAILURES) {
  t.test(`an error: ${what}`, async (t) => {
    const { code, stdout, stderr } = await ran(() => Promise.reject(error))
    t.equal(code, expected)
    t.match(stderr, message)
    t.equal(stdout, '')
  })
}

t.test('a verb does not run without the flags that npm took', async (t) => {
  const env = { npm_lifecycle_event: 'made-up', npm_config_rates: '5' }
  const { code, stderr } = await ran(async () => ENDED, [], { env })
  t.equal(code, 2)
  t.equal(stderr, 'redline: npm took --rates for itself: write npm run made-up -- --rates …\n')
})

t.test('no text of others controls the terminal', async (t) => {
  const wipe = '\u001b[2J'
  const refused = async () => {
    throw new UsageError(`the build said ${wipe}`)
  }
  t.equal((await ran(refused)).stderr, 'redline: the build said \ufffd[2J\n')
  const problem = async () => ({ ...ENDED, run: { ...RUN, problem: wipe } })
  t.equal((await ran(problem)).stderr, 'redline: no trustworthy answer: \ufffd[2J\n')
  const shell = createShell()
  await main({}, [wipe], shell)
  t.notMatch(shell.said.stderr, wipe)
})
