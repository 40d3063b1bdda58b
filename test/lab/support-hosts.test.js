import { execFile } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { rows } from '../support/database.js'
import { openHosts, withoutHosts } from '../support/hosts.js'
import { newCertificate, startPostgres } from '../support/postgres-host.js'
import { startSshd, withoutSshd } from '../support/sshd.js'

const run = promisify(execFile)

t.test('hosts', { skip: withoutHosts() ?? withoutSshd() ?? false }, async (t) => {
  let left = { folder: '', net: '' }
  await t.test('a network between them, sshd and Postgres', async (t) => {
    const { box, database, lab } = await openHosts(t, ['box', 'database', 'lab'])
    left = { folder: path.dirname(box.folder), net: box.gateway }
    const sshd = await startSshd(box, { env: { GREETING: 'hello' } })
    const { url } = await startPostgres(database)

    await t.test(
      'ssh from one runs a command on the other, which has a name, processes and folders of its own',
      async (t) => {
        const script = 'hostname; echo $GREETING; ls -a ~ | wc -w; ls -d /proc/[0-9]* | wc -l'
        const [program, ...args] = lab.inNetwork(['ssh', '-F', sshd.configFile, sshd.user, script])
        const { stdout } = await run(program, args)
        const [name, greeting, files, processes] = stdout.split('\n')
        t.strictSame({ name, greeting, files }, { name: 'box', greeting: 'hello', files: '2' })
        t.ok(Number(processes) < 15, `${processes} processes there`)
      },
    )

    await t.test('what runs there is seen with its pid there, and ends with the way in', async (t) => {
      const child = box.spawn(['sleep', '1234'])
      const [asleep] = await until(() => box.processes().filter(({ command }) => command === 'sleep 1234'))
      t.ok(asleep.pid < 1000)
      child.kill('SIGKILL')
      await until(() => [!box.processes().some(({ command }) => command === 'sleep 1234')].filter(Boolean))
    })

    await t.test('Postgres is reached with its own CA, and not with another', async (t) => {
      t.strictSame(await rows(url, 'SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()'), [{ ssl: true }])
      const wrong = new URL(url)
      wrong.searchParams.set('sslrootcert', (await newCertificate(t.testdir(), database.address)).caFile)
      await t.rejects(rows(wrong.href, 'SELECT'), /certificate|signature/)
      await t.rejects(rows(`${url.split('?')[0]}?sslmode=disable`, 'SELECT'), /no encryption/)
    })

    await t.test('a wire that is pulled out cuts the network, and mends when it is put in again', async (t) => {
      const reach = (/** @type {string[]} */ ...more) => run('ssh', ['-F', sshd.configFile, ...more, sshd.user, 'true'])
      await box.wire('down')
      await t.rejects(reach('-o', 'ConnectTimeout=1'), /timed out|unreachable|No route/)
      await box.wire('up')
      await reach()
    })
  })

  await t.test('nothing is left', async (t) => {
    t.notOk(fs.existsSync(left.folder))
    t.notMatch((await run('ip', ['address'])).stdout, `${left.net}/`)
    const processes = fs.readdirSync('/proc').filter((pid) => {
      return /^\d+$/.test(pid) && readIfThere(`/proc/${pid}/cmdline`).includes(left.folder)
    })
    t.strictSame(processes, [])
  })
})

/** @param {string} file */
function readIfThere(file) {
  try {
    return fs.readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

/** @template T @param {() => T[]} look */
async function until(look) {
  for (;;) {
    const found = look()
    if (found.length > 0) return found
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}
