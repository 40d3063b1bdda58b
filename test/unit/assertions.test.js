import fs from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { vacuousIn } from '../support/vacuous.js'

/** @param {string} code of a test */
const inTest = (code) => `t.test('x', async (t) => {\n${code}\n})`

t.test('an assertion that cannot fail is found', async (t) => {
  const rows = [
    ['t.match(x, [])', /array as a pattern/],
    ['t.match(x, [1, 2])', /array as a pattern/],
    ['t.match(x, {})', /empty object as a pattern/],
    ['t.has(x, { a: { b: [] } })', /array as a pattern/],
    ['t.hasStrict(x, { a: {} })', /empty object as a pattern/],
    ['t.ok([])', /of a literal/],
    ["t.ok('always')", /of a literal/],
    ['t.ok(() => false)', /of a literal/],
    ['t.ok(a, 5)', /takes a message second/],
    ['t.ok(a, [1])', /takes a message second/],
    ['t.equal(a)', /without an expected value/],
    ['t.equal(a, 1, 2)', /takes a message third/],
    ['const a = 1', /without an assertion/],
    ['t.teardown(stop)', /without an assertion/],
    ['t.throws(f)', /passes for any error/],
    ["await t.rejects(p, 'it fails')", /passes for any error/],
    ["t.only('y', async (t) => t.pass())", /only/],
    ["t.test('y', { only: true }, async (t) => t.pass())", /only/],
    ['await new Promise((resolve) => setTimeout(resolve, 100)); t.pass()', /a sleep/],
    ['await sleep(100); t.pass()', /a sleep/],
    ['for (const a of await list()) t.ok(a)', /which nothing says is not empty/],
    ['const found = all.filter(isOdd)\nfor (const a of found) t.ok(a)', /which nothing says is not empty/],
    ['found().forEach((a) => t.ok(a))', /which nothing says is not empty/],
    ['for (const a of []) t.ok(a)', /which nothing says is not empty/],
    ['for (const a of Object.values(await all())) t.ok(a)', /which nothing says is not empty/],
    ['t.ok(found.every(isOdd))', /all of found, which nothing says is not empty/],
    ['t.ok(a && (await found).every(isOdd), found.join())', /all of \(await found\), which/],
    ['t.ok(a && !found.some(isOdd))', /all of found, which/],
    ['t.notOk(a || found.b.some(isOdd))', /all of found\.b, which/],
    ['t.equal(found.filter(isOdd).every(isPrime), true)', /all of found\.filter\(isOdd\), which/],
    ['t.strictSame(found.filter(isOdd).map(nameOf), [])', /all of found, which/],
    ['const wrong = found.filter(isOdd)\nt.strictSame(wrong, [])', /all of found, which/],
    ['t.ok([].every(isOdd))', /all of \[\], which/],
  ]
  for (const [code, what] of /** @type {[string, RegExp][]} */ (rows)) {
    const found = vacuousIn('x.js', inTest(code))
    t.equal(found.length, 1, `${code}: ${found}`)
    t.match(found[0], what, code)
  }
})

t.test('an assertion that can fail is none', async (t) => {
  for (const code of [
    't.strictSame(x, [])',
    't.match(x, { a: 1, b: { c: /d/ } })',
    't.ok(x, `large`)',
    't.ok(x.length > 0, message)',
    't.throws(f, { message: /expected/ })',
    'await t.rejects(p, new TypeError())',
    'await checks(t, 5)',
    'for (const a of [1, 2]) t.ok(a)',
    'const rows = [1, 2]\nfor (const row of rows) t.ok(row)',
    'for (const [name, a] of Object.entries({ a: 1 })) t.ok(a, name)',
    'for (const a of found) t.ok(a)\nt.equal(found.length, 3)',
    'for (const a of await list()) if (!a) throw new Error()\nt.pass()',
    't.equal(x.y.length, 1)\nt.match(x, { y: [/a/] })',
    'while (!(await isSo())) await sleep(20)\nt.pass()',
    'for (const a of await Promise.all(MODES.map(start))) t.ok(a)',
    'await fc.assert(property)',
    'setTimeout(answer, 50)\nt.pass()',
    't.ok(found.length > 0 && found.every(isOdd))',
    't.ok(found.every(isOdd))\nt.equal(found.length, 3)',
    't.ok(all().every(isOdd))',
    "t.ok(text.split(',').every(isOdd))",
    't.ok(found.some(isOdd))\nt.notOk(found.every(isOdd))',
    't.strictSame(processesOf(folder).filter(isOurs), [])',
    'for (const a of [1, 2]) t.strictSame(found.filter((b) => a > b), [], String(a))',
    'const all = await Promise.all([...found, ...others].map(look))\nt.ok(others.length > 2)\nt.notOk(all.some(isOdd))',
  ]) {
    t.strictSame(vacuousIn('x.js', inTest(code)), [], code)
  }
})

/** So many findings that are none, by file. @type {Record<string, number>} */
const KNOWN = {
  // A command without flags.
  'lab/tuning/ec2.test.js': 1,
}

t.test('every assertion of every test file can fail', async (t) => {
  const files = ['unit', 'system', 'lab'].flatMap((tier) =>
    fs
      .readdirSync(path.join('test', tier), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.js'))
      .map((file) => `${tier}/${file}`),
  )
  t.ok(files.length > 100, `${files.length} files`)
  const found = files.map((file) => ({
    file,
    places: vacuousIn(file, fs.readFileSync(path.join('test', file), 'utf8')),
  }))
  t.strictSame(
    found.filter(({ file, places }) => places.length !== (KNOWN[file] ?? 0)),
    [],
  )
})

t.test('CI knows every test by name', async (t) => {
  const listed = new Set(fs.readFileSync('.ci/tests.txt', 'utf8').split('\n'))
  const titles = ['unit', 'system', 'lab'].flatMap((tier) =>
    fs
      .readdirSync(path.join('test', tier), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.test.js'))
      .flatMap((file) => {
        const text = fs.readFileSync(path.join('test', tier, file), 'utf8')
        // Only titles that are written out: of a template, the list has what it became.
        const written = text.matchAll(/^t\.test\(\s*(?:'([^'\\]+)'|"([^"\\]+)")/gm)
        return [...written].map(([, single, double]) => `test/${tier}/${file} > ${single ?? double}`)
      }),
  )
  t.ok(titles.length > 1000, `${titles.length} titles`)
  t.strictSame(
    titles.filter((title) => !listed.has(title)),
    [],
  )
})
