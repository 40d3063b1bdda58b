import { cellName } from '../../../load/report/format.js'
import { markdownOf } from '../../../load/report/markdown.js'
import { API_DEFAULTS, recordOf } from './record.js'

/**
 * @import { Lab } from '../../../load/run/runner.js'
 * @import { TrialPlan } from '../../../load/run/trial.js'
 * @import { Seen, TrialRecord } from './record.js'
 * @import { Serve } from './service.js'
 * @import { Plan } from '../../../load/report/record.js'
 */

/** When the next trial of a run would have begun, had no answer been late. @param {TrialRecord[]} records */
export function after_ms(records) {
  const last = records.at(-1)
  if (!last) return START_MS
  return Date.parse(last.started_at) + (last.load.warmup_s + last.load.duration_s + BETWEEN_TRIALS_S) * 1000
}

/** What passes between two trials. */
const BETWEEN_TRIALS_S = 0.5

const START_MS = Date.parse('2026-01-01T00:00:00Z')

/**
 * A lab without processes, sockets or a clock: its targets are answered for by a simulated service, and its time passes as
 * trials ask for it.
 * @param {Serve} serve
 * @param {object} [options] what happens beside
 * @param {(cell: any, opening: number, interrupt: () => void) => void} [options.onOpen] before a target opens; throws
 *   where it does not; interrupt: Ctrl-C
 * @param {(trial: TrialPlan, started: number) => Partial<Seen> | void} [options.onTrial]
 *   while a trial is on: throws where it breaks off, returns what goes wrong in it; started: trials so far in this lab
 * @param {(cell: string | null) => Record<string, string | number>} [options.settings] of a cell, as they are read back;
 *   by default those that its name tells
 * @param {number} [options.start_ms] when the lab's time begins
 * @returns {Partial<Lab> & { log: LabLog }}
 * @typedef {object} LabLog
 * @property {any[]} opened cells
 * @property {number} open targets
 * @property {number} sites open
 * @property {number[]} pauses_ms
 * @property {string} sentence of the report
 * @property {string[]} pictures
 */
export function createLab(serve, options = {}) {
  const { onOpen = () => {}, onTrial = () => {}, settings = settingsOf, start_ms = START_MS } = options
  const log = {
    opened: /** @type {any[]} */ ([]),
    open: 0,
    sites: 0,
    pauses_ms: /** @type {number[]} */ ([]),
    sentence: '',
    pictures: /** @type {string[]} */ ([]),
  }
  let now_ms = start_ms
  let started = 0
  let isOurs = true

  return {
    log,
    now: () => new Date(now_ms),
    pause: async (ms, signal) => {
      log.pauses_ms.push(ms)
      now_ms += ms
      signal.throwIfAborted()
      return []
    },
    openOrigin: async () => ({ hosts: [], of: () => ({}) }),
    openSite: async (plan, results) => {
      isOurs = plan.url === null
      log.sites++
      const cores = isOurs ? { api: '0', others: '1' } : null
      const place = {
        databaseUrl: '',
        cores: cores?.api ?? null,
        allCores: '0,1',
        env: {},
        logFile: results.file('api.log'),
      }
      const close = async () => void log.sites--
      const database = /** @type {any} */ (isOurs ? { kind: 'embedded', warnings: [] } : null)
      return { database, cores, place, hosts: {}, close }
    },
    describeRun: async (plan) => describeRun(plan),
    spoilers: async () => [],
    // What is painted is tested elsewhere, and costs more than all the rest.
    writeReport: async (results, title, blocks) => {
      results.writeText('report.md', `# ${title}\n\n${markdownOf(blocks.filter((block) => !('brief' in block)))}\n`)
      log.sentence = blocks.flatMap((block) => (block.kind === 'answer' ? block.text : [])).join()
      const pictures = blocks.flatMap((block) => (block.kind === 'picture' ? block.picture.name : []))
      log.pictures = pictures.filter((name) => name !== 'seconds')
    },

    openTarget: async (_open, cell) => {
      log.opened.push(cell)
      onOpen(cell, log.opened.length, () => {})
      log.open++
      return /** @type {any} */ ({
        ...(isOurs ? OURS : THEIRS),
        settings: isOurs ? { ...API_DEFAULTS, ...settings(cell) } : {},
        stop: async () => void log.open--,
      })
    },

    runTrial: async ({ target, slo, runId, experiment, at, cell }, plan, signal, onCounts) => {
      signal.throwIfAborted()
      started++
      const wrong = onTrial(plan, started)
      signal.throwIfAborted()
      const { mix, trial, resumptions, ...load } = plan
      const step = { experiment, at, cell, load: { ...load, mix } }
      const at_s = (now_ms - START_MS) / 1000
      const started_at = new Date(now_ms).toISOString()
      const seen = { ...serve(step, { trial, at_s, settings: target.settings }), ...wrong }
      onCounts({ sent: 1, completed: 1, ok: 1, failed: 0 })
      now_ms += (plan.warmup_s + plan.duration_s + (seen.late_s ?? 0) + BETWEEN_TRIALS_S) * 1000
      const about = {
        run_id: runId,
        trial,
        started_at,
        settings: target.settings,
        target,
        slo,
        mix,
        timeout_s: plan.timeout_s,
      }
      return recordOf(step, seen, about)
    },
  }
}

const OURS = { kind: 'local', url: 'http://127.0.0.1:3000/user', pid: 1, cores: '0', countsRows: true }
const THEIRS = { kind: 'url', url: 'http://10.0.0.1/user', pid: null, cores: null, countsRows: false }

/** What is read back of a cell that names knobs and their levels. @param {any} cell */
function settingsOf(cell) {
  const name = cellName(cell)
  const parts = name.split(' ').filter((part) => /^[A-Z_]+=/.test(part))
  const settings = parts
    .map((part) => part.split('='))
    .map(([knob, level]) => [knob, /^\d+$/.test(level) ? Number(level) : level])
  return /** @type {Record<string, string | number>} */ (Object.fromEntries(settings))
}

/** @param {Plan} plan @returns {any} */
function describeRun({ slo }) {
  const memory_bytes = 8 * 2 ** 30
  return {
    machine: { cpu_model: 'simulated', cores: 2, memory_bytes, kernel: 'none', platform: 'simulated' },
    versions: { node: 'v20.19.0', postgres: '18.0', redline_commit: 'simulated', driver: 'simulated' },
    database: { kind: 'embedded', version: '18.0', schema: 'public' },
    slo,
    warnings: [],
  }
}
