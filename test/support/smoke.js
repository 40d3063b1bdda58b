import fs from 'node:fs'
import path from 'node:path'
import { processesOf, readRun, readTrials, startLab, temporaryFolder } from './lab.js'

const FILES = ['report.html', 'report.md', 'run.json', 'trials.ndjson']

/**
 * A verb as its program under real load: interrupted after its first trial, resumed, and run to its end. Asserts what no
 * run may break, whatever it measures: exit codes, files, conservation, and nothing left behind.
 * @param {any} t
 * @param {string} verb
 * @param {string[]} args
 * @param {{ databaseUrl?: string, isCutAgain?: boolean, code?: number }} [options] isCutAgain: after the second trial, where the rest
 *   takes too long; code: exit code of a whole run
 * @returns {Promise<{ out: string, run: any, trials: any[], stdout: string, stderr: string }>}
 */
export async function smoke(t, verb, args, { databaseUrl, isCutAgain = false, code = 0 } = {}) {
  const folder = temporaryFolder(t)
  const [out, temporary] = ['run', 'tmp'].map((name) => path.join(folder, name))
  fs.mkdirSync(temporary)
  fs.chmodSync(temporary, 0o777)
  const env = { DATABASE_URL: databaseUrl, TMPDIR: temporary }

  const cut = startLab([verb, ...args, '--out', out], env, { stopsAt: 'trial 1:' })
  await interrupted(cut, 'trial 1:')
  t.equal((await cut.ended).code, 130, 'interrupted')
  const kept = readTrials(out)
  t.match(readRun(out), { verb, interrupted: true })

  const stopsAt = isCutAgain ? `trial ${kept.length + 1}:` : undefined
  const again = startLab([verb, '--resume', out], env, { stopsAt })
  if (stopsAt) await interrupted(again, stopsAt)
  const resumed = await again.ended
  t.equal(resumed.code, isCutAgain ? 130 : code, resumed.stderr)
  const [run, trials] = [readRun(out), readTrials(out)]
  t.match(run, { verb, interrupted: isCutAgain })
  t.ok(trials.length > kept.length, 'goes on')
  t.strictSame(trials.slice(0, kept.length), kept, 'and keeps what was measured')
  t.strictSame(
    trials.map(({ trial }) => trial),
    trials.map((_, i) => i + 1),
    'each trial once',
  )
  conserves(t, trials)
  const missing = FILES.filter((name) => !fs.existsSync(path.join(out, name)))
  t.strictSame(missing, [], 'files of the run')
  t.strictSame(processesOf(folder), [], 'no process is left')
  t.strictSame(fs.readdirSync(temporary), [], 'no file is left')
  return { out, run, trials, stdout: resumed.stdout, stderr: resumed.stderr }
}

/** Ctrl-C for a lab that stands still at these words: however late we read them, it has done no more. @param {ReturnType<typeof startLab>} lab @param {string} words */
async function interrupted({ child, stderrHas }, words) {
  await stderrHas(words)
  child.kill('SIGINT')
  child.kill('SIGCONT')
}

/**
 * Every request has one outcome, and every 201 is a row.
 * @param {any} t
 * @param {any[]} trials
 */
export function conserves(t, trials) {
  t.ok(trials.length > 0, 'trials')
  for (const { trial, load, traffic } of trials) {
    const { planned, sent, completed, status, errors, rows_stored, warmup_unanswered } = traffic
    const about = `trial ${trial} (${load.driver}): ${JSON.stringify({ planned, sent, completed, status, errors, rows_stored })}`
    const total = (/** @type {Record<string, number>} */ counts) => Object.values(counts).reduce((a, b) => a + b, 0)
    t.ok(planned > 0 && sent <= planned, about)
    t.equal(total(status), completed, about)
    t.equal(completed + total(errors), planned, about)
    if (rows_stored === null) continue
    const [acknowledged, unknown] = [status[201] ?? 0, sent - completed + warmup_unanswered + (status[504] ?? 0)]
    t.ok(rows_stored >= acknowledged && rows_stored <= acknowledged + unknown, about)
  }
}
