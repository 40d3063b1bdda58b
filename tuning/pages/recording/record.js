import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { chunksOf, framesOf, paced } from './frames.js'
import { animationOf } from './svg.js'

// `npm run recording`: runs a sweep in a terminal of util-linux's `script`, and writes its screens as an animation for README.

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
const COMMAND = process.argv[2] ?? 'npm run --silent sweep'
const SIZE = { columns: 100, rows: 36, step_s: 3, answer: /^- Capacity:|^Capacity:/ }
const TIMES = { most_s: 1, whole_s: 30, last_s: 8 }

const folder = mkdtempSync(path.join(tmpdir(), 'redline-recording-'))
try {
  const [output, timing] = ['output', 'timing'].map((name) => path.join(folder, name))
  const inTerminal = `stty cols ${SIZE.columns} rows ${SIZE.rows}; ${COMMAND}`
  const started = new Date()
  const args = ['--quiet', '--return', '--log-out', output, '--log-timing', timing, '--command', inTerminal]
  const { status, error } = spawnSync('script', args, { cwd: ROOT, stdio: 'inherit' })
  if (error || status !== 0)
    throw new Error(`expected the command to end well, got ${error?.message ?? `exit code ${status}`}`)
  const log = readFileSync(output)
  // script writes a line of its own before the output.
  const chunks = chunksOf(readFileSync(timing, 'utf8'), log.subarray(log.indexOf('\n') + 1))
  const frames = paced(await framesOf(chunks, SIZE), TIMES)
  const last_s = Number(chunks.at(-1)?.at_s)
  const title = `$ ${COMMAND.replace('--silent ', '')}   (${started.toISOString().slice(0, 10)}, ${(last_s / 60).toFixed(1)} min, shortened)`
  writeFileSync(
    path.join(ROOT, 'tuning/pages/recording/recording.svg'),
    animationOf(frames, { ...SIZE, ...TIMES, title }),
  )
} finally {
  rmSync(folder, { recursive: true, force: true })
}
