import { spawnSync } from 'node:child_process'
import t from 'tap'

t.test('a limit of open files beyond what a user may have is refused, with what to change', async (t) => {
  const program = `import { limitFor } from './load/ssh/nofile.js'
    process.setuid?.(65534)
    try { limitFor(2_000_000) } catch (error) { console.log(error.message) }`
  const { stdout } = spawnSync(
    'prlimit',
    ['--nofile=512:512', process.execPath, '--input-type=module', '--eval', program],
    {
      encoding: 'utf8',
      env: { PATH: process.env.PATH },
    },
  )
  if (process.getuid?.() === 0) {
    t.match(
      stdout,
      /NOFILE: expected at most 512, the hard limit of nobody on \S+, got 2000000.*nobody hard nofile 2000000.*limits\.conf/,
    )
  }
})
