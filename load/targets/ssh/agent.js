import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { TLS_FILES } from '../../../sql/address.js'
import { makeScratch, removeLeftovers } from '../../../sql/scratch.js'
import { bareEnvironment, sshAddress } from '../../command/environment.js'
import { plainError } from '../../command/errors.js'
import { gatherFacts } from '../../probes/facts.js'
import { every, SAMPLE_MS } from '../../probes/index.js'
import { watchKernel } from '../../probes/kernel.js'
import { watchPostgresOn } from '../../probes/postgres.js'
import { familyOf, watchProcess } from '../../probes/process.js'
import { isThisMachine } from '../../system/addresses.js'
import { startDoser } from '../../system/dose/doser.js'
import { describeMachine } from '../../system/machine.js'
import { nodeOf } from '../../system/node-versions.js'
import { pinToCores } from '../../system/processes.js'
import { timeWork_ms } from '../../system/speed.js'
import { limitFor } from '../../system/ssh/nofile.js'
import { parsed } from '../../system/ssh/remote.js'
import { openLocal } from '../local.js'

/**
 * @import { Doser } from '../../system/dose/doser.js'
 * @import { Target } from '../index.js'
 */

/**
 * The agent runs on the API's host: it starts the API with the lab's own code, watches its process and the host's kernel, and
 * stops it. Requests and answers are lines of JSON; only this host's clock measures intervals. The agent ends, and the API with
 * it, when its input ends or is silent for SILENCE_MS.
 */

const SILENCE_MS = 10_000
const ENDING_MS = 4000

/** Maximum part of a log that the lab gets: a log may hold a line per request. */
const LOG_BYTES = 2 ** 20

const root = fileURLToPath(new URL('../../../', import.meta.url))
// The folders of killed agents may hold keys.
await removeLeftovers([os.tmpdir()])
const folder = makeScratch('agent')
const logFile = path.join(folder, 'api.log')
const cores = pinToCores()
const controller = new AbortController()

const say = (/** @type {object} */ message) => process.stdout.write(`${JSON.stringify(message)}\n`)

/** @type {Promise<Target> | null} */
let opening = null
/** @type {ReturnType<typeof watch> | null} */
let watching = null
/** Whether the API's database runs on this host. */
let hasDatabase = false
/** @type {Doser | null} */
let doser = null
let silence = setTimeout(end, SILENCE_MS)
let ending = false

/** Handlers of the lab's requests. @type {Record<string, (asked: any) => Promise<any>>} */
const COMMANDS = {
  async start({ databaseUrl, files, env, port, address, ...asked }) {
    fs.rmSync(logFile, { force: true })
    opening = openLocal({
      ...asked,
      nofile: limitFor(asked.nofile),
      databaseUrl: withFiles(databaseUrl, files),
      env: { ...bareEnvironment(), ...env },
      logFile,
      listen: { host: address, port },
    })
    const { died, stop, ...target } = await opening
    died.catch((error) => {
      sendLog()
      say({ died: plainError(error) })
    })
    hasDatabase = await isThisMachine(databaseUrl)
    return target
  },
  async stop() {
    await (await opening)?.stop()
    opening = null
    sendLog()
  },
  async watch() {
    watching = watch(await /** @type {Promise<Target>} */ (opening))
  },
  end: async () => watching?.end(),
  timeWork: ({ cores }) => timeWork_ms(cores),
  /** cores: the API's, slowed instead of its processes. */
  async openDoser({ cores }) {
    const { pid } = await /** @type {Promise<Target>} */ (opening)
    doser = await startDoser(cores ? { cores } : { pids: familyOf(Number(pid)) })
  },
  beginDose: async ({ share }) => doser?.begin(share),
  endDose: async () => doser?.end(),
  closeDoser: async () => doser?.close(),
  /** Keeps a file for the API until the agent ends. */
  keep: async ({ name, text }) => fs.writeFileSync(path.join(folder, path.basename(name)), text, { mode: 0o600 }),
  emptyLog: async () => fs.truncateSync(logFile),
  facts: () => gatherFacts({ cores, database: null, signal: controller.signal }),
  node: ({ major }) => nodeOf(major),
}

for (const name of /** @type {const} */ (['SIGTERM', 'SIGHUP', 'SIGINT'])) process.on(name, end)
process.stdout.on('error', end)
createInterface({ input: process.stdin }).on('line', hear).on('close', end)
// A shell may have printed an unterminated line.
process.stdout.write('\n')
say({ hello: { machine: { ...describeMachine(), node: process.version }, cores, address: sshAddress(), root, folder } })

/** @param {string} line */
async function hear(line) {
  clearTimeout(silence)
  silence = setTimeout(end, SILENCE_MS)
  const { id, ask, ...asked } = parsed(line) ?? {}
  if (!ask) return
  try {
    say({ id, result: (await COMMANDS[ask](asked)) ?? null })
  } catch (error) {
    if (ask === 'start') {
      sendLog()
      opening = null
    }
    say({ id, error: plainError(error) })
  }
}

async function end() {
  if (ending) return
  ending = true
  clearTimeout(silence)
  controller.abort()
  // The kernel kills what is left of the API when we end.
  setTimeout(leave, ENDING_MS)
  await doser?.close()
  await (await opening?.catch(() => null))?.stop()
  if (opening) sendLog()
  leave()
}

function leave() {
  fs.rmSync(folder, { recursive: true, force: true })
  process.exit()
}

/** Watches the API from here, so that the connection does not disturb the samples. @param {Target} target */
function watch({ pid, url, cores: own }) {
  // Its database is part of what is measured, not a neighbour that disturbs it.
  const usePostgres = hasDatabase ? watchPostgresOn(own) : () => null
  const use = watchProcess(pid)
  const kernel = watchKernel({ url, ours: true })
  const timer = every(SAMPLE_MS.kernel, kernel)
  return {
    async end() {
      const [used, ofKernel, postgres_core_ratio] = [use(), kernel?.end(), usePostgres()]
      timer.stop()
      await timer.idle()
      const counters = (await ofKernel?.({ sent: 0, completed: 0, lateness_ms: null })) ?? {}
      return { process: used, kernel: { ...counters, ...(postgres_core_ratio !== null && { postgres_core_ratio }) } }
    },
  }
}

/** @param {string} databaseUrl @param {Record<string, string>} files text by parameter */
function withFiles(databaseUrl, files) {
  const url = new URL(databaseUrl)
  for (const name of TLS_FILES.filter((one) => files[one] !== undefined)) {
    const file = path.join(folder, `${name}.pem`)
    fs.writeFileSync(file, files[name], { mode: 0o600 })
    url.searchParams.set(name, file)
  }
  return url.href
}

/** Sends the end of the API's log, once. */
function sendLog() {
  if (!fs.existsSync(logFile)) return
  const cut = Math.max(0, fs.statSync(logFile).size - LOG_BYTES)
  const text = execFileSync('tail', ['-c', `${LOG_BYTES}`, logFile], { encoding: 'utf8', maxBuffer: 2 * LOG_BYTES })
  fs.rmSync(logFile)
  say({ log: `${cut > 0 ? `(without the first ${cut} bytes)\n` : ''}${text}` })
}
