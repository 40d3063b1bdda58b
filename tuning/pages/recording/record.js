import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { createScreen } from './screen.js'
import { animationOf } from './svg.js'

// `npm run recording`: runs a sweep in a terminal of util-linux's `script`, and writes its screens as an animation for README.

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
const COMMAND = process.argv[2] ?? 'npm run --silent sweep'
const SIZE = { columns: 100, rows: 36 }
/** Time between two looks at the screen. */
const STEP_MS = 3000
const ANSWER = /^- Capacity:|^Capacity:/

const started = new Date()
const screen = createScreen(SIZE)
const screens = [screen.lines()]
const inTerminal = `stty cols ${SIZE.columns} rows ${SIZE.rows}; ${COMMAND}`
const args = ['--quiet', '--return', '--command', inTerminal, '/dev/null']
const child = spawn('script', args, { cwd: ROOT, stdio: ['inherit', 'pipe', 'inherit'] })
child.stdout.pipe(process.stdout)
child.stdout.on('data', screen.write)
const looks = setInterval(() => screens.push(screen.lines()), STEP_MS)
const [code] = await once(child, 'close')
clearInterval(looks)
if (code !== 0) throw new Error(`expected the command to end well, got exit code ${code}`)
await screen.write('')
screens.push(screen.lines(ANSWER))
const took_min = ((Date.now() - started.getTime()) / 60_000).toFixed(1)
const title = `$ ${COMMAND.replace('--silent ', '')}   (${started.toISOString().slice(0, 10)}, ${took_min} min, shortened)`
writeFileSync(new URL('recording.svg', import.meta.url), animationOf(screens, { ...SIZE, title }))
