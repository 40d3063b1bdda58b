import { spawnSync } from 'node:child_process'
import os from 'node:os'
import t from 'tap'

t.test('a limit of open files beyond what a user may have is refused, with what to change', async (t) => {
  const isRoot = process.getuid?.() === 0
  const user = isRoot ? 'nobody' : os.userInfo().username
  const program = `import { limitFor } from './load/system/ssh/nofile.js'
    if (${isRoot}) process.setuid('nobody')
    try { limitFor(2_000_000) } catch (error) { console.log(error.message) }`
  const { stdout } = spawnSync(
    'prlimit',
    ['--nofile=512:512', process.execPath, '--input-type=module', '--eval', program],
    {
      encoding: 'utf8',
      env: { PATH: process.env.PATH },
    },
  )
  t.match(stdout, new RegExp(`^NOFILE: expected at most 512, the hard limit of ${user} on \\S+, got 2000000`))
  t.match(stdout, new RegExp(`${user} hard nofile 2000000.*limits\\.conf`))
})
