import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { VERSION } from './program.js'

const folder = fileURLToPath(new URL('.', import.meta.url))

// Not every proxy lists the versions of vegeta's module, so `go install …@latest` may fail; a pinned go.mod works.
const version = ['-ldflags', `-X main.Version=${VERSION}`]
// Static: it must run on any load host.
const alone = ['-tags', 'netgo,osusergo']
const flags = ['build', '-o', 'bin/vegeta', ...alone, ...version, 'github.com/tsenart/vegeta/v12']
process.stderr.write(`building vegeta ${VERSION} (about 30 s the first time)\n`)
mkdirSync(path.join(folder, 'bin'), { recursive: true })
const { status, error } = spawnSync('go', flags, { cwd: folder, stdio: 'inherit' })
if (error) process.stderr.write('expected Go 1.22 or newer on PATH to build vegeta, found none\n')
process.exitCode = status ?? 1
if (status === 0) {
  // Whatever the umask: the lab runs it only if nobody else may write to it.
  for (const name of ['bin', 'bin/vegeta']) chmodSync(path.join(folder, name), 0o755)
  process.stderr.write(`built ${folder}bin/vegeta\n`)
}
