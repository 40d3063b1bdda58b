import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const VERSION = 'v12.13.0'
const folder = fileURLToPath(new URL('.', import.meta.url))

// The version list of vegeta's module is not served everywhere, so `go install …@latest` may fail; a pinned go.mod works.
const version = ['-ldflags', `-X main.Version=${VERSION}`]
// Without C's libraries, so that it runs on a load host whatever is there.
const alone = ['-tags', 'netgo,osusergo']
const flags = ['build', '-o', 'bin/vegeta', ...alone, ...version, 'github.com/tsenart/vegeta/v12']
process.stderr.write(`building vegeta ${VERSION} (about 30 s the first time)\n`)
const { status, error } = spawnSync('go', flags, { cwd: folder, stdio: 'inherit' })
if (error) process.stderr.write('expected Go 1.22 or newer on PATH to build vegeta, found none\n')
process.exitCode = status ?? 1
if (status === 0) process.stderr.write(`built ${folder}bin/vegeta\n`)
