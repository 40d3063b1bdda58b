import { once } from 'node:events'
import { existsSync, readdirSync, realpathSync } from 'node:fs'
import path from 'node:path'
import { NotApplied } from '../../../../load/command/errors.js'
import { trafficOf } from '../../../../load/generators/drivers/recorder.js'
import { usersOf } from '../../../../load/generators/mix.js'
import { endedChildrenCpu_s } from '../../../../load/probes/process.js'
import { collect, spawnLeashed, versionOf } from '../../../../load/system/processes.js'

/**
 * @import { Driver, Load } from '../../../../load/generators/drivers/index.js'
 * @import { Traffic } from '../../../../load/report/record.js'
 */

const CONNECT_TIMEOUT_MS = 5000

/**
 * Closed loop by Postgres' own pgbench, in whole seconds. A transaction counts as a 201; recording the latency of each would cost CPU
 * time. @type {Pick<Driver, 'open'>}
 */
export const pgbench = {
  async open(load) {
    let connecting_cpu_s = 0
    return {
      // Each run opens its own connections, and authenticating on them takes as much CPU time as thousands of rows.
      async ready({ signal }) {
        const before_s = endedChildrenCpu_s()
        await connectOnly(load, signal)
        connecting_cpu_s = endedChildrenCpu_s() - before_s
      },
      async run({ duration_s, signal, onEnd }) {
        const text = await runPgbench(load, `--time=${Math.ceil(duration_s)}`, scriptOf(load), signal)
        onEnd()
        return { ...parsePgbench(text), connecting_cpu_s }
      },
      close: async () => {},
    }
  },
}

/**
 * The version of a pgbench that can connect.
 * @param {string} url of the database
 * @throws {NotApplied} if it is not installed, or cannot connect: libpq looks for certificates in other places than pg does
 */
export async function pgbenchVersion(url) {
  const program = findPgbench()
  if (!program)
    throw new NotApplied('expected pgbench on PATH, found none; sudo apt-get install postgresql installs it')
  await connectOnly({ url, connections: 1 }, AbortSignal.timeout(CONNECT_TIMEOUT_MS)).catch((error) => {
    throw new NotApplied(error.message)
  })
  return versionOf(program, '--version', /([\d.]+)/)
}

/** Opens the connections and closes them again. @param {Address} load @param {AbortSignal} signal */
function connectOnly(load, signal) {
  return runPgbench(load, '--transactions=1', '\\set n 0\n', signal)
}

/**
 * @typedef {Pick<Load, 'url' | 'connections'>} Address
 * @param {Address} load @param {string} length @param {string} script @param {AbortSignal} signal
 * @returns {Promise<string>} its output
 * @throws {Error} with pgbench's message, if it fails
 */
async function runPgbench({ url, connections }, length, script, signal) {
  const { words, env } = addressOf(url)
  const how = ['--no-vacuum', '--protocol=prepared', `--client=${connections}`, '--jobs=1', '--define=n=0', '--file=-']
  const child = spawnLeashed([findPgbench() ?? 'pgbench', ...how, length, words], {
    stdio: 'pipe',
    env: { PATH: process.env.PATH, LC_ALL: 'C', ...env },
    signal,
    killSignal: 'SIGKILL',
  })
  const [said, complaints] = [collect(child.stdout), collect(child.stderr)]
  // If pgbench exits at once, its message says more than the broken pipe.
  child.stdin?.on('error', () => {}).end(script)
  const [code] = await once(child, 'close', { signal })
  if (code !== 0) throw new Error(`pgbench ended with code ${code}: ${complaints().trim().replace(/\s+/g, ' ')}`)
  return said()
}

/** Script for the users of a trial over HTTP, numbered per connection. @param {Pick<Load, 'mix' | 'trial' | 'connections'>} load */
export function scriptOf({ mix, trial, connections }) {
  const { email, password } = usersOf(mix, trial)("' || :i || '")
  return `\\set n :n + 1
\\set i :n * ${connections} + :client_id
INSERT INTO users (email, password) VALUES ('${email}', '${password}');
`
}

/**
 * Reads the number of transactions from pgbench's output, and their rate without the time that it took to connect.
 * @param {string} text @returns {Traffic}
 * @throws {Error} if either figure is missing, or nothing was stored
 */
export function parsePgbench(text) {
  const number = (/** @type {RegExp} */ pattern) => Number(pattern.exec(text)?.[1])
  const stored = number(/^number of transactions actually processed: (\d+)/m)
  // Versions before 14 say "excluding connections establishing".
  const rate_rps = number(/^tps = ([\d.]+) \((?:without initial connection time|excluding connections establishing)\)/m)
  if (!(stored > 0 && rate_rps > 0)) throw new Error(`expected transactions and tps of pgbench, got: ${text.trim()}`)
  const counts = { planned: stored, sent: stored, status: { 201: stored }, errors: {} }
  return trafficOf({ ...counts, run_s: stored / rate_rps, untimed: true })
}

/** Splits a URL into the password and the rest, which libpq takes on its command line, readable by everybody. @param {string} url */
export function addressOf(url) {
  const address = new URL(url)
  const password = decodeURIComponent(address.password)
  address.password = ''
  // libpq takes a plus literally, not as a space.
  address.search = address.search.replaceAll('+', '%20')
  return { words: address.href, env: password ? { PGPASSWORD: password } : {} }
}

/**
 * Finds pgbench on PATH, or else the newest of Debian's versions, whose folders are not on PATH.
 * @param {string} [searched] folders, in the format of PATH @param {string} [versions] folder that contains one folder per version
 */
export function findPgbench(searched = process.env.PATH ?? '', versions = '/usr/lib/postgresql') {
  const newestFirst = existsSync(versions) ? readdirSync(versions).sort((a, b) => Number(b) - Number(a)) : []
  const folders = [...searched.split(path.delimiter), ...newestFirst.map((name) => path.join(versions, name, 'bin'))]
  // Debian's pgbench on PATH is a Perl script, whose start would count as CPU time of the load.
  const isProgram = (/** @type {string} */ file) => existsSync(file) && path.basename(realpathSync(file)) === 'pgbench'
  return folders.map((folder) => path.resolve(folder, 'pgbench')).find(isProgram) ?? null
}
