import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { main } from '../../../load/run/shell.js'
import { sweep } from '../../../load/verbs/sweep/sweep.js'
import { openHosts, withoutHosts } from '../../support/hosts.js'
import { newCertificate, startPostgres } from '../../support/postgres-host.js'
import { createShell } from '../../support/shell.js'
import { ourProcesses, startBareBox, startBox, untilNothingRuns } from '../../support/ssh-box.js'
import { startSshd, withoutSshd } from '../../support/sshd.js'

/** @import { Box } from '../../support/ssh-box.js' */

const SHORT = ['--duration', '1s', '--warmup', '300ms', '--slo-p99', '5s']

t.test(
  'what is wrong with a host is one line',
  { skip: withoutHosts() ?? withoutSshd() ?? false, jobs: 3 },
  async (t) => {
    const hosts = await openHosts(t, ['box', 'small', 'closed', 'turned', 'database'])
    const [box, small, closed, { url }] = await Promise.all([
      startBox(hosts.box),
      startBareBox(hosts.small),
      startBox(hosts.closed, { settings: ['AllowTcpForwarding no'] }),
      startPostgres(hosts.database),
    ])
    const folder = t.testdir()
    let runs = 0

    /**
     * @param {any} t
     * @param {{ at?: Box, user?: string, config?: string, databaseUrl?: string, env?: Record<string, string> }} given
     * @param {RegExp} line
     */
    async function refused(t, { at = box, user = at.user, config = at.configFile, databaseUrl = url, env }, line) {
      const out = path.join(folder, String(runs++))
      const database = databaseUrl ? ['--database-url', databaseUrl] : []
      const argv = ['--ssh', user, '--ssh-config', config, ...database, '--rates', '50', '--out', out]
      const { DATABASE_URL: _, ...inherited } = process.env
      const shell = createShell({ env: { ...inherited, ...env } })
      const code = await main({ sweep }, ['sweep', ...SHORT, ...argv], shell)
      const { stdout, stderr } = shell.said
      t.equal(code, 2, stderr)
      t.equal(stdout, '')
      const said = stderr.split('\n').filter((text) => text && !/…$/.test(text))
      t.equal(said.length, 1, stderr)
      t.match(said[0], line)
      t.notOk(fs.existsSync(out), 'and no folder of a run')
    }

    /** A configuration as the box's own, but for some lines. @param {Record<string, string>} other */
    function configWith(other) {
      const file = path.join(folder, `config-${Object.keys(other).join('-')}`)
      const changed = new RegExp(`^ +(${Object.keys(other).join('|')}) .*\n`, 'gm')
      const lines = Object.entries(other).map(([name, value]) => `  ${name} ${value}\n`)
      fs.writeFileSync(file, fs.readFileSync(box.configFile, 'utf8').replace(changed, '') + lines.join(''), {
        mode: 0o600,
      })
      return file
    }

    t.test('the way there', async (t) => {
      const nobody = box.user.replace(/\d+$/, '77')
      const closedPort = `ssh://${box.user}:2222`
      await refused(
        t,
        { user: 'root@nowhere.invalid' },
        /a host that can be found, got: Could not resolve hostname nowhere/,
      )
      await refused(t, { user: nobody }, /an sshd that answers, got: connect to host \S+77 port 22: .*; is the host up/)
      await refused(
        t,
        { user: closedPort },
        /an sshd that answers, got: connect to host \S+ port 2222: Connection refused/,
      )
      await refused(
        t,
        { config: `${folder}/none` },
        /a configuration that ssh can read, got: Can't open user config file/,
      )
      await refused(
        t,
        { databaseUrl: '' },
        /expected --database-url URL .*, a Postgres that both this machine and the host/,
      )

      const other = path.join(folder, 'other')
      execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', other])
      const known = path.join(folder, 'known')
      fs.writeFileSync(known, `${box.address} ${fs.readFileSync(`${other}.pub`, 'utf8')}`)
      const changed = configWith({ UserKnownHostsFile: known })
      await refused(t, { config: changed }, /the host key that \S+known:1 holds, got another one.*ssh-keygen -R 10\.99/)
      const unknown = configWith({ UserKnownHostsFile: '/dev/null', StrictHostKeyChecking: 'ask' })
      await refused(t, { config: unknown }, /a host key that is known here.*ssh-keyscan 10\.99\S+ \| ssh-keygen -lf -/)
      const stranger = configWith({ IdentityFile: other })
      await refused(t, { config: stranger }, /a key that the host takes, got: root@\S+: Permission denied \(publickey/)
      t.strictSame(ourProcesses(box), [])

      const words = 'Please login as the user "ubuntu" rather than the user "root".'
      const turned = await startSshd(hosts.turned, { settings: [`ForceCommand echo '${words}'; echo; exit 142`] })
      const at = /** @type {any} */ (turned)
      await refused(t, { at }, /expected ssh to get in, got: Please login as the user "ubuntu" rather than/)
    })

    t.test('what is there', async (t) => {
      const { node } = small
      const old = path.join(small.folder, 'old-node')
      fs.writeFileSync(old, '#!/bin/sh\necho v18.20.4\n', { mode: 0o755 })
      for (const [file, line] of /** @type {[string, RegExp][]} */ ([
        [old, /expected Node 20\.19 or newer there, got v18\.20\.4 \(/],
        ['/dev/null', /expected Node 20\.19 or newer there, found no node/],
      ])) {
        await small.run(['mount', '--bind', file, node])
        await refused(t, { at: small }, line)
        await small.run(['umount', node])
      }

      // The second has room for the list of packages, and not for them.
      for (const [size, line] of /** @type {[string, RegExp][]} */ ([
        ['100k', /expected Redline to be copied there|npm ci/],
        ['500k', /expected npm ci to bring the packages there, got: .*ENOSPC/],
      ])) {
        await small.run(['sh', '-c', `mkdir -p /root/.cache; mount -t tmpfs -o size=${size} small /root/.cache`])
        await refused(
          t,
          { at: small },
          new RegExp(`${line.source}.*; the disk is full: make room in /root/.cache/redline`),
        )
        t.equal(await small.run(['ls', '/root/.cache/redline']), '', 'nothing is left of it')
        await small.run(['umount', '/root/.cache'])
      }

      await small.run(['sh', '-c', 'mkdir -p /root/.cache/redline; chmod 777 /root/.cache/redline'])
      await refused(
        t,
        { at: small },
        /to be writable by nobody else, got drwxrwxrwx .* root root .* \/root\/\.cache\/redline: chmod go-w it/,
      )
      await small.run(['sh', '-c', 'rm -r /root/.cache/redline'])

      await small.run(['sh', '-c', 'rm -r /root/.npm'])
      await refused(t, { at: small }, /expected npm ci to bring the packages there, got: .*(ENOTCACHED|cache)/)
      t.strictSame(ourProcesses(small), [])
    })

    t.test('what the API needs there', async (t) => {
      const at = closed
      await refused(t, { at, env: { POOL_MAX: '0' } }, /POOL_MAX: expected a whole number from 1/)
      await refused(t, { at }, /expected \/readyz of the API through the connection, .*AllowTcpForwarding/)

      const { caFile } = await newCertificate(folder, hosts.database.address)
      const wrong = new URL(url)
      wrong.searchParams.set('sslrootcert', caFile)
      const databaseUrl = wrong.href
      await refused(
        t,
        { at, databaseUrl },
        /DATABASE_URL: expected a Postgres that answers, got: .*(certificate|signature)/,
      )
      const away = ['blackhole', `${hosts.database.address}/32`]
      await at.run(['ip', 'route', 'add', ...away])
      await refused(t, { at }, /the API was not ready within 30 s; .*\/readyz says: database unavailable/)
      await at.run(['ip', 'route', 'del', ...away])
      t.strictSame(ourProcesses(at), [])
    })

    t.test('the port of the API', async (t) => {
      // The other has the database by now.
      const own = await startPostgres(hosts.small)
      const databaseUrl = own.url
      const taken = `require('net').createServer().listen(3000, '${box.address}', () => console.log())`
      const server = box.spawn([box.node, '-e', taken])
      await new Promise((resolve) => server.stdout?.once('data', resolve))
      await refused(t, { databaseUrl }, /cannot listen on 10\.99\S+:3000: .*EADDRINUSE/)
      server.kill('SIGKILL')
      await untilNothingRuns(box)

      const answering = `require('http').createServer((_, res) => res.end()).listen(3000, '${box.address}', () => console.log())`
      const stranger = box.spawn([box.node, '-e', answering])
      await new Promise((resolve) => stranger.stdout?.once('data', resolve))
      await refused(t, { databaseUrl }, /expected nothing at http:\/\/10\.99\S+:3000 yet, got an answer: .*--ssh-port/)
      stranger.kill('SIGKILL')
      await untilNothingRuns(box)

      // As a security group does it: without a word.
      await box.run(['ip', 'rule', 'add', 'ipproto', 'tcp', 'sport', '3000', 'blackhole'])
      const line =
        /the API, ready on port 3000 of 10\.99\S+, to be reachable from here, got no answer .*: open TCP 3000/
      await refused(t, { databaseUrl }, line)
      t.strictSame(ourProcesses(box), [])
    })
  },
)
