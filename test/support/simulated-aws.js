import { execFile, spawn } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { without } from './skip.js'
import { firstMatch } from './until.js'

const EC2 = fileURLToPath(new URL('../../tuning/ec2/', import.meta.url))
const KEEPER = fileURLToPath(new URL('simulated_aws.py', import.meta.url))

/** A machine's key, as its console prints it. */
export const HOST_KEY = `ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI${'x'.repeat(43)}`

/**
 * `aws`, done by the keeper. It keeps each command line, fails the one that FAIL names, shows a console with a host key, and with
 * SKELETON only has the parser look at the command line.
 */
const AWS = `#!/bin/bash
printf '%s\\n' "$*" >>"$AWS_LOG"
case "$*" in
  *get-console-output*) printf 'ci-info: none\\n%s root@host\\n' '${HOST_KEY}'; exit ;;
  *get-caller-identity*) [ -z "\${SKELETON:-}" ] || { echo 123456789012; exit; } ;;
esac
if [ -n "\${FAIL:-}" ] && [[ "$*" == *"$FAIL"* ]]; then echo "An error occurred (VcpuLimitExceeded)" >&2; exit 254; fi
folder=$(mktemp -d -p "$AWS_CALLS")
env -0 >"$folder/env"
printf '%s\\0' "$@" \${SKELETON:+--generate-cli-skeleton output} >"$folder/args"
exec 9<>"/dev/tcp/127.0.0.1/$AWS_KEEPER"
echo "$folder" >&9
read -r code <&9
cat "$folder/out"
cat "$folder/err" >&2
exit "$code"
`

/** Why the simulation cannot run here; undefined: it can. */
export const withoutMoto = () => without('sh', '-c', 'command -v moto_server && command -v aws')

/**
 * moto's simulation of AWS on loopback, and the real aws command line, until the test ends.
 * @param {any} t
 * @returns {Promise<Record<string, string>>} environment of that command line
 */
export async function startMoto(t) {
  const bin = path.dirname(fs.realpathSync((await run('which', ['moto_server'], process.env)).stdout.trim()))
  const start = (/** @type {string[]} */ [program, ...args]) => {
    const child = spawn(path.join(bin, program), args, { stdio: ['ignore', 'pipe', 'pipe'] })
    t.teardown(() => child.kill())
    return child
  }
  const moto = start(['moto_server', '-H', '127.0.0.1', '-p', '0'])
  const keeper = start(['python3', KEEPER])
  const [AWS_ENDPOINT_URL, AWS_KEEPER] = await Promise.all([
    firstMatch('moto_server to listen', moto.stderr, /http:\/\/127\.0\.0\.1:\d+/),
    firstMatch('the aws command line to be ready', keeper.stdout, /^\d+(?=\n)/),
  ])
  return { AWS_ENDPOINT_URL, AWS_KEEPER }
}

/**
 * A region of its own of that simulation, with nothing in it. Not us-east-1: there this aws looks for RDS under its real name, whatever
 * AWS_ENDPOINT_URL says.
 * @param {any} t @param {Record<string, string>} moto what startMoto returns @param {string} region
 */
export async function openRegion(t, moto, region) {
  const folder = t.testdir({ bin: {}, calls: {} })
  fs.writeFileSync(path.join(folder, 'bin/aws'), AWS, { mode: 0o755 })
  const env = {
    ...moto,
    HOME: folder,
    AWS_DEFAULT_REGION: region,
    AWS_ACCESS_KEY_ID: 'simulated',
    AWS_SECRET_ACCESS_KEY: 'simulated',
    AWS_EC2_METADATA_DISABLED: 'true',
    AWS_LOG: path.join(folder, 'aws.log'),
    AWS_CALLS: path.join(folder, 'calls'),
    REDLINE_EC2_STATE: path.join(folder, 'state'),
    PATH: `${path.join(folder, 'bin')}:${process.env.PATH}`,
  }
  /** Commands as on the page. @param {string} text @param {Record<string, string>} [more] environment */
  const shell = (text, more) => run('bash', ['-ec', text], { ...env, ...more })
  const aws = async (/** @type {string} */ line) => {
    const { code, stdout, stderr } = await shell(`aws ${line}`)
    if (code !== 0) throw new Error(`aws ${line}: ${stderr}`)
    return stdout.trim()
  }
  return {
    folder,
    env,
    aws,
    shell,
    /** One of the scripts. @param {string} script @param {string[]} args @param {Record<string, string>} [more] environment */
    script: (script, args, more) => run(path.join(EC2, script), args, { ...env, ...more }),
    /** All that costs money or could be ours: kind, id, tag. @returns {Promise<string[]>} sorted */
    inventory: async () => (await aws('list')).split('\n').filter(Boolean).sort(),
  }
}

/**
 * @param {string} program @param {string[]} args @param {NodeJS.ProcessEnv} env
 * @returns {Promise<{ code: number, stdout: string, stderr: string }>}
 */
function run(program, args, env) {
  return new Promise((resolve) => {
    const child = execFile(program, args, { env }, (error, stdout, stderr) => {
      resolve({ code: error ? Number(error.code ?? 1) : 0, stdout, stderr })
    })
    child.stdin?.end()
  })
}
