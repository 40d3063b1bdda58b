import fs from 'node:fs'
import path from 'node:path'
import t from 'tap'

/** The API's settings are data that the lab reads, too. */
const SETTINGS = 'api/settings.js'

/** Who may import whom: tuning -> load -> sql, and api alone. */
const MAY_IMPORT = { api: [], sql: [], load: ['sql/', SETTINGS], tuning: ['load/', 'sql/', SETTINGS] }

/** @param {string} folder */
function sources(folder) {
  if (!fs.existsSync(folder)) return []
  const files = fs.readdirSync(folder, { recursive: true, encoding: 'utf8' })
  return files.filter((file) => file.endsWith('.js')).map((file) => path.join(folder, file))
}

/** The path of what a file imports. @param {string} file @param {string} name */
function pathOf(file, name) {
  return path.join(path.dirname(file), name)
}

/** @param {string} file */
function imports(file) {
  const text = fs.readFileSync(file, 'utf8')
  return [...text.matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)].map(([, name]) => name)
}

for (const [folder, allowed] of Object.entries(MAY_IMPORT)) {
  t.test(`${folder}/ imports nothing but itself, packages${allowed.map((name) => `, ${name}`).join('')}`, async (t) => {
    const files = sources(folder)
    t.ok(files.length > 5)
    const wrong = files.flatMap((file) => {
      const own = imports(file).filter((entry) => entry.startsWith('.'))
      const isAllowed = (/** @type {string} */ name) =>
        [`${folder}/`, ...allowed].some((place) => pathOf(file, name).startsWith(place))
      return own.filter((name) => !isAllowed(name)).map((name) => `${file}: ${name}`)
    })
    t.strictSame(wrong, [])
  })
}

t.test('the settings of the API are data: they import nothing, and hold no function', async (t) => {
  t.strictSame(imports(SETTINGS), [])
  const { ...exported } = await import('../../api/settings.js')
  t.strictSame(Object.keys(exported), ['SETTINGS'])
  t.strictSame(structuredClone(exported), exported)
})

/** The rooms of a folder, the lowest layer first: a room imports from those before it, and from itself. */
const LAYERS = {
  load: ['command', 'system', 'report', 'probes', 'generators', 'targets', 'verdict', 'capacity', 'run', 'verbs'],
  tuning: ['stats', 'knobs', 'experiments', 'workshop', 'pages'],
}

/** Rooms that hold no code. */
const DATA = { load: [], tuning: ['ec2', 'evidence', 'published'] }

for (const [folder, rooms] of Object.entries(LAYERS)) {
  t.test(`${folder}/ has at most ten rooms, and none imports from a layer above its own`, async (t) => {
    const entries = fs.readdirSync(folder, { withFileTypes: true })
    const found = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name)
    t.strictSame(found.sort(), [...rooms, ...DATA[/** @type {'load' | 'tuning'} */ (folder)]].sort())
    t.ok(found.length <= 10)
    const upwards = sources(folder).flatMap((file) => {
      const own = rooms.indexOf(file.split(path.sep)[1])
      return own === -1
        ? []
        : roomsOf(file, folder).flatMap((room) => (rooms.indexOf(room) > own ? `${file}: ${room}` : []))
    })
    t.strictSame(upwards, [])
  })
}

t.test('no experiment imports another', async (t) => {
  const files = sources('tuning/experiments')
  t.ok(files.length > 50)
  const others = files.flatMap((file) => {
    const own = file.split(path.sep)[2]
    const targets = imports(file).map((name) => path.normalize(path.join(path.dirname(file), name)).split(path.sep))
    return targets.flatMap(([, room, verb]) => (room === 'experiments' && verb !== own ? `${file}: ${verb}` : []))
  })
  t.strictSame(others, [])
})

/** The rooms of its folder from which a file imports code or types. @param {string} file @param {string} folder */
function roomsOf(file, folder) {
  const names = [...fs.readFileSync(file, 'utf8').matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g)].map(
    ([, name]) => name,
  )
  const targets = names.map((name) => path.normalize(path.join(path.dirname(file), name)).split(path.sep))
  return targets.flatMap(([top, room]) => (top === folder ? room : []))
}

t.test('one module of the API speaks to pg, and one reads the environment', async (t) => {
  const importers = sources('api').filter((file) => imports(file).includes('pg'))
  t.strictSame(importers, ['api/connections.js'])
  const readers = [...sources('api'), ...sources('load')].filter((file) =>
    /process\.env\b/.test(fs.readFileSync(file, 'utf8')),
  )
  t.strictSame(readers, ['api/config.js', 'load/command/environment.js'], 'and one of the lab')
})

t.test('one module draws, one writes HTML, and neither is loaded before a run has ended', async (t) => {
  const all = ['load', 'tuning'].flatMap(sources)
  const importers = (/** @type {RegExp} */ name) => all.filter((file) => imports(file).some((one) => name.test(one)))
  t.strictSame(importers(/^echarts/), ['load/report/chart.js'])
  t.strictSame(importers(/^markdown-it$/), ['load/report/page.js'])
  t.strictSame(importers(/\/page\.js$/), ['load/report/write.js'])
  t.notMatch(fs.readFileSync('load/report/chart.js', 'utf8'), /from 'echarts/)
  t.notMatch(fs.readFileSync('load/report/write.js', 'utf8'), /from '.*page\.js'/)
})

t.test('every package that is imported is a dependency, and every dependency is imported', async (t) => {
  const { dependencies, devDependencies } = JSON.parse(fs.readFileSync('package.json', 'utf8'))
  const [peers, own] = [sources('tuning/experiments/bench/peers'), ['api', 'sql', 'load', 'tuning'].flatMap(sources)]
  const packages = packagesOf(own.filter((file) => !peers.includes(file)))
  // A packed Redline has it as one file, see prepack.
  t.ok(packages.delete('echarts') && 'echarts' in devDependencies)
  // The recording for README is made in a checkout, and not packed.
  t.ok(packages.delete('@xterm/headless') && '@xterm/headless' in devDependencies)
  t.strictSame([...packages].sort(), Object.keys(dependencies).sort())
  t.ok(packagesOf(peers).size > 0)
  for (const name of packagesOf(peers)) {
    t.ok(
      name in dependencies || name in devDependencies,
      `${name}, with which we compare, is installed for development`,
    )
  }
})

/** @param {string[]} files */
function packagesOf(files) {
  const used = files.flatMap(imports).filter((name) => !/^[.]|^node:/.test(name))
  return new Set(used.map((name) => name.replace(/^(@[^/]+\/[^/]+|[^/]+).*/, '$1')))
}

t.test('a file tells one story: none is longer than 300 lines', async (t) => {
  const lines = (/** @type {string} */ file) => fs.readFileSync(file, 'utf8').trimEnd().split('\n').length
  const files = Object.keys(MAY_IMPORT).flatMap(sources)
  t.ok(files.length > 300)
  t.strictSame(
    files.filter((file) => lines(file) > 300),
    [],
  )
})
