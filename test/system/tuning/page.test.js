import fs from 'node:fs'
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { writeReport } from '../../../load/report/write.js'
import { runHere, trialHere } from '../../support/in-process.js'
import { temporaryFolder } from '../../support/lab.js'
import { CHROMIUM, fixture, rewrite, runReport, startBrowser } from '../../support/pages.js'
import { created, httpServer } from '../../support/servers.js'
import { without } from '../../support/skip.js'

/** @import { Page } from 'playwright-core' */

const skip = without(CHROMIUM, '--version') && `this needs ${CHROMIUM}`
const axe = fs.readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** A run of every verb, with the pictures that its page has to have. */
const PAGES = {
  'sweep-batched': ['capacity', 'latency', 'resources', 'seconds'],
  tune: ['cells', 'effects-goodput', 'effects-p99', 'effects-cpu', 'seconds'],
  article: ['success', 'seconds'],
  compare: ['latency', 'seconds'],
  ramp: ['latency', 'seconds'],
  ablate: ['budget-cpu', 'budget-time', 'seconds'],
  balance: ['percentiles-strategies', 'percentiles-crowded', 'seconds'],
  bench: ['seconds'],
  faults: ['seconds'],
  playbook: ['seconds'],
  overload: ['seconds'],
  soak: ['memory', 'files', 'seconds'],
  processes: ['seconds'],
}

/** Each page in two of the four ways in which it can be seen, so that all four are met; axe, which is slow, looks at the first. */
const VIEWS = /** @type {const} */ ([
  [
    { width: 1280, colorScheme: 'light' },
    { width: 400, colorScheme: 'dark' },
  ],
  [
    { width: 1280, colorScheme: 'dark' },
    { width: 400, colorScheme: 'light' },
  ],
  [
    { width: 400, colorScheme: 'dark' },
    { width: 1280, colorScheme: 'light' },
  ],
  [
    { width: 400, colorScheme: 'light' },
    { width: 1280, colorScheme: 'dark' },
  ],
])

const GROUNDS = { light: 'rgb(255, 255, 255)', dark: 'rgb(21, 24, 28)' }

// Alone, a file would have 30 s.
t.setTimeout(300_000)

const viewer = skip ? null : await startViewer(t)

t.test('the page of every verb', { skip }, async (t) => {
  const folder = temporaryFolder(t)
  for (const [i, [name, pictures]] of Object.entries(PAGES).entries()) {
    await t.test(name, async (t) => {
      const source = fixture(name, folder)
      await runReport(source)
      await looksRight(t, `${source}/report.html`, VIEWS[i % 4], pictures)
      const markdown = fs.readFileSync(`${source}/report.md`, 'utf8')
      const shown = pictures.filter((picture) => markdown.includes(`](${picture}.svg)`))
      t.equal(shown.length, pictures.length, 'report.md shows each')
    })
  }
  await t.test('two runs side by side', async (t) => {
    const out = `${folder}/beside`
    await runReport(`${folder}/sweep-batched`, fixture('sweep-single', folder), '--out', out)
    await looksRight(t, `${out}/report.html`, VIEWS[0], [])
  })
  await t.test('a capacity that is unknown from below, far from its SLO', async (t) => {
    const source = fixture('sweep-batched', `${folder}/below`)
    rewrite(source, {
      run: (run) => {
        Object.assign(run.capacity, { low_rps: null, high_rps: 30_000 })
        run.slo.p99_ms = 500
      },
    })
    await runReport(source)
    await looksRight(t, `${source}/report.html`, VIEWS[1], ['capacity', 'latency'])
  })
  await t.test('a run that has just ended', async (t) => {
    const fresh = `${folder}/fresh`
    const url = await httpServer(t, created)
    const load = ['--rates', '100,200', '--duration', '1s', '--warmup', '200ms', '--slo-p99', '9s']
    const { code, stdout, stderr } = await runHere(['sweep', ...load, '--url', url, '--out', fresh], {
      lab: { writeReport, runTrial: trialHere },
    })
    t.equal(code, 0, stderr)
    t.match(stdout, `${fresh}/report.html`)
    const [wide, narrow] = VIEWS[0]
    for (const view of [wide, narrow]) {
      const { page } = await shown(`${fresh}/report.html`, view)
      await page.evaluate(axe)
      t.strictSame(await violationsOfAll(page), [], `${view.width} px, ${view.colorScheme}`)
    }
    await looksRight(t, `${fresh}/report.html`, [VIEWS[0][0]], ['capacity', 'latency', 'seconds'])
  })
})

const HOSTILE = `"'></title></script><script>document.body.remove()</script><img src="http://127.0.0.1:9/x.png" onerror="alert(1)">![x](http://127.0.0.1:9/y.png)</svg>`

t.test('names from outside stay text, on the page and in the pictures', { skip }, async (t) => {
  const folder = temporaryFolder(t)
  const source = fixture('sweep-batched', folder)
  rewrite(source, {
    run: (run) => {
      Object.assign(run, { run_id: HOSTILE, argv: [HOSTILE], warnings: [HOSTILE], problem: HOSTILE })
      Object.assign(run.limit, { resource: HOSTILE, evidence: [HOSTILE], runner_up: HOSTILE })
      run.machine.cpu_model = HOSTILE
      run.plan.mix.name = HOSTILE
    },
    record: (record) => {
      Object.assign(record, { outcome: { verdict: 'fail', because: HOSTILE } })
      Object.assign(record, { run_id: HOSTILE, cell: HOSTILE })
      record.traffic.errors = { [HOSTILE]: 1 }
      record.load.mix = HOSTILE
    },
  })
  const [a, b] = ['a', 'b'].map((name) => fixture('tune', `${folder}/${name}`))
  const names = { run: (/** @type {any} */ run) => Object.assign(run, { run_id: HOSTILE }) }
  const cells = { record: (/** @type {any} */ record) => Object.assign(record, { run_id: HOSTILE, cell: HOSTILE }) }
  for (const one of [a, b]) rewrite(one, { ...names, ...cells })
  const proof = fixture('sweep-single', `${folder}/proof`)
  rewrite(proof, {
    run: (run) => Object.assign(run, { run_id: HOSTILE }),
    record: (record) => {
      record.run_id = HOSTILE
      const { doses = [], load } = record
      const own = [...doses, ...(load.slices ?? [])].filter(({ resource }) => resource === 'postgres-cpu')
      for (const one of own) one.suspect = HOSTILE
    },
  })
  await runReport(source)
  await runReport(proof)
  await runReport(a, b, '--out', `${folder}/beside`)
  for (const out of [source, proof, `${folder}/beside`]) {
    const { page, problems } = await shown(`${out}/report.html`, { width: 1280, colorScheme: 'light' })
    const found = await page.evaluate(() => {
      const { scripts, images, body } = /** @type {any} */ (globalThis).document
      const text = body.textContent.includes('<script>document.body.remove()</script>')
      return { scripts: scripts.length, images: images.length, text }
    })
    t.strictSame(found, { scripts: 0, images: 0, text: true })
    t.strictSame(problems, [])
    const files = fs.readdirSync(out).filter((name) => name.endsWith('.svg'))
    t.equal(files.length > 0, out !== `${folder}/beside`)
    for (const file of files) {
      const svg = fs.readFileSync(`${out}/${file}`, 'utf8')
      const elements = await page.evaluate((text) => {
        const parsed = new /** @type {any} */ (globalThis).DOMParser().parseFromString(text, 'image/svg+xml')
        return [...parsed.querySelectorAll('*')].map((/** @type {any} */ { localName }) => localName)
      }, svg)
      t.ok(elements.length > 10 && !elements.some((name) => /^(parsererror|script|img|image|a)$/.test(name)), file)
    }
  }
})

t.test('the page can do nothing but be read, by keys too', { skip }, async (t) => {
  const source = fixture('soak', temporaryFolder(t))
  await runReport(source)
  const { page } = await shown(`${source}/report.html`, { width: 400, colorScheme: 'dark' })
  let asked = 0
  const url = await httpServer(t, (_req, res) => {
    asked++
    res.writeHead(200, { 'Access-Control-Allow-Origin': '*', 'Content-Length': 0 }).end()
  })
  t.equal(await page.evaluate(whatStops, url), 'connect-src', 'it asks nobody, though somebody would answer')
  t.equal(asked, 0)
  const focused = () =>
    page.evaluate(() => {
      const { activeElement } = /** @type {any} */ (globalThis).document
      return activeElement.className || activeElement.tagName
    })
  await page.keyboard.press('Tab')
  t.equal(await focused(), 'skip')
  await page.keyboard.press('Enter')
  await page.keyboard.press('Tab')
  t.equal(await focused(), 'SUMMARY')
  await page.keyboard.press('Enter')
  t.ok(await page.locator('figure details[open] table').first().isVisible(), 'a picture opens its table')
  await page.emulateMedia({ media: 'print', colorScheme: 'dark' })
  const printed = await page.evaluate(() => {
    const window = /** @type {any} */ (globalThis)
    return window.getComputedStyle(window.document.body).backgroundColor
  })
  t.equal(printed, 'rgb(255, 255, 255)', 'what is printed is printed on paper')
})

/**
 * Runs in the page: which of its own rules stops a request. Without one it is answered, or refused by something else.
 * @param {string} url
 * @returns {Promise<string>}
 */
function whatStops(url) {
  return new Promise((resolve) => {
    const { document } = /** @type {any} */ (globalThis)
    document.addEventListener('securitypolicyviolation', (/** @type {any} */ { effectiveDirective }) =>
      resolve(effectiveDirective),
    )
    fetch(url).then(
      () => resolve('nothing'),
      // The browser reports the violation at about the same time.
      () => setTimeout(() => resolve('no rule of its own'), 10_000),
    )
  })
}

/**
 * One tab for all pages: what it has compiled for one, it need not compile for the next.
 * @param {any} t
 */
async function startViewer(t) {
  const browser = await startBrowser(t)
  const page = await browser.newPage()
  let url = ''
  /** @type {string[]} */
  let problems = []
  page.on('console', (message) => problems.push(message.text()))
  page.on('pageerror', (error) => problems.push(error.message))
  page.on('request', (request) => {
    if (request.url() !== url && !request.url().startsWith('data:')) problems.push(`asked for ${request.url()}`)
  })
  return {
    page,
    /** @param {string} file @returns {Promise<string[]>} what goes wrong from now on */
    open: async (file) => {
      url = pathToFileURL(file).href
      problems = []
      await page.goto(url)
      return problems
    },
  }
}

/** @param {View} view */
async function lookedAt({ width, colorScheme }) {
  const { page } = /** @type {NonNullable<typeof viewer>} */ (viewer)
  await page.setViewportSize({ width, height: 900 })
  await page.emulateMedia({ media: 'screen', colorScheme })
}

/** @param {string} file @param {View} view */
async function shown(file, view) {
  await lookedAt(view)
  const { page, open } = /** @type {NonNullable<typeof viewer>} */ (viewer)
  return { page, problems: await open(file) }
}

/**
 * @param {any} t
 * @param {string} file
 * @param {readonly View[]} views
 * @param {string[]} pictures
 */
async function looksRight(t, file, views, pictures) {
  const { page, problems } = await shown(file, views[0])
  await page.evaluate(axe)
  t.strictSame(await violationsOf(page), [], 'axe finds nothing')
  for (const view of views) {
    await lookedAt(view)
    const where = `at ${view.width} px, ${view.colorScheme}`
    t.strictSame(faultsOf(await page.evaluate(inspect), view, pictures), [], `all is there and whole ${where}`)
  }
  t.strictSame(problems, [], 'no error, no request')
}

/** @param {Seen} seen @param {View} view @param {string[]} pictures that have to be there */
function faultsOf(seen, view, pictures) {
  const faults = []
  if (seen.width > view.width) faults.push(`wider than the page: ${seen.width}`)
  if (seen.ground !== GROUNDS[view.colorScheme]) faults.push(`the ground is ${seen.ground}`)
  if (seen.answer.length <= 20) faults.push(`the answer on top is "${seen.answer}"`)
  for (const name of pictures) {
    const found = seen.pictures.filter((one) => one.name === name)
    if (found.length !== 1) faults.push(`expected one ${name}, got ${found.length}`)
    for (const { role, strays, broken, hasTable, marks, spread } of found) {
      if (role !== 'img') faults.push(`${name} has the role ${role}`)
      if (strays.length > 0) faults.push(`${name} has letters beyond its edge: ${strays}`)
      if (broken) faults.push(`${name} contains NaN, undefined or Infinity`)
      if (!hasTable) faults.push(`${name} has no table`)
      if (!(marks >= 3 && spread > 0.15)) faults.push(`${name} is empty: ${marks} marks, spread ${spread}`)
    }
  }
  return [...faults, ...seen.pictures.flatMap(({ collisions }) => collisions)]
}

/**
 * Folded tables, most of a page's elements, are away while axe looks: it passes over what is not visible, but asks for the style
 * of each cell. What is behind the letters of a picture it cannot tell, and leaves their contrast open at length.
 * @param {Page} page
 * @returns {Promise<string[]>}
 */
async function violationsOf(page) {
  return page.evaluate(async () => {
    const { axe, document } = /** @type {any} */ (globalThis)
    axe.configure({ rules: [{ id: 'color-contrast', selector: ':not(svg *)' }] })
    const folded = [...document.querySelectorAll('details:not([open]) .scroll')].map((table) => {
      const place = document.createComment('')
      table.replaceWith(place)
      return () => place.replaceWith(table)
    })
    const found = await axe.run(document, { resultTypes: ['violations'] })
    for (const putBack of folded) putBack()
    if (found.passes.length < 10) return [`expected rules that apply, got ${found.passes.length}`]
    return found.violations.map((/** @type {any} */ one) => `${one.id}: ${one.nodes[0].html.slice(0, 200)}`)
  })
}

/** The same with every table open and every rule, of a page that is small. @param {Page} page */
async function violationsOfAll(page) {
  return page.evaluate(async () => {
    const { axe, document } = /** @type {any} */ (globalThis)
    for (const details of document.querySelectorAll('details')) details.open = true
    const { violations, passes } = await axe.run(document, { resultTypes: ['violations'] })
    if (passes.length < 10) return [`expected rules that apply, got ${passes.length}`]
    return violations.map((/** @type {any} */ one) => `${one.id}: ${one.nodes[0].html.slice(0, 200)}`)
  })
}

/** Runs in the page: what is to be seen of its pictures. @returns {Seen} */
function inspect() {
  const window = /** @type {any} */ (globalThis)
  const { document } = window
  const visible = [...document.querySelectorAll('figure svg')].filter((svg) => svg.getBoundingClientRect().width > 0)
  const pictures = visible.map((svg) => {
    const frame = svg.getBoundingClientRect()
    const grounds = new Set(['#dde3e9', '#57606a', 'none', null])
    // What is drawn in a colour of a series: no axis, no grid, no letter.
    const marks = [...svg.querySelectorAll('path,rect,circle,polygon,polyline,line,ellipse')].filter((mark) => {
      return ['fill', 'stroke'].some((name) => !grounds.has(mark.getAttribute(name)))
    })
    const boxes = marks.map((mark) => mark.getBoundingClientRect()).filter(({ width, height }) => width + height > 0)
    const [left, right] = [Math.min(...boxes.map((box) => box.left)), Math.max(...boxes.map((box) => box.right))]
    const texts = [...svg.querySelectorAll('text')]
      .map((text) => ({ text: text.textContent, box: text.getBoundingClientRect() }))
      .filter(({ text, box }) => text.trim() !== '' && box.width > 0)
    const within = (/** @type {any} */ a, /** @type {any} */ b, /** @type {number} */ slack) => {
      return (
        a.left >= b.left - slack && a.right <= b.right + slack && a.top >= b.top - slack && a.bottom <= b.bottom + slack
      )
    }
    const meet = (/** @type {any} */ a, /** @type {any} */ b) => {
      return a.left < b.right - 2 && b.left < a.right - 2 && a.top < b.bottom - 4 && b.top < a.bottom - 4
    }
    const collisions = texts.flatMap((a, i) =>
      texts
        .slice(i + 1)
        .filter((b) => meet(a.box, b.box))
        .map((b) => `${svg.querySelector('title').textContent}: "${a.text}" and "${b.text}"`),
    )
    const figure = svg.closest('figure')
    return {
      name: figure.id,
      role: svg.getAttribute('role'),
      // A line counts for each of its corners.
      marks: marks.reduce((sum, mark) => sum + (mark.getAttribute('d')?.match(/[ML]/g)?.length ?? 1), 0),
      spread: (right - left) / frame.width,
      broken: /NaN|undefined|Infinity/.test(svg.innerHTML),
      strays: texts.filter(({ box }) => !within(box, frame, 2)).map(({ text }) => text),
      collisions,
      hasTable: figure.querySelectorAll('details td').length > 1,
    }
  })
  return {
    width: document.documentElement.scrollWidth,
    ground: window.getComputedStyle(document.body).backgroundColor,
    answer: document.querySelector('.answer').textContent,
    pictures,
  }
}

/**
 * @typedef {{ width: number, colorScheme: 'light' | 'dark' }} View
 * @typedef {object} Seen
 * @property {number} width of all there is
 * @property {string} ground its colour
 * @property {string} answer
 * @property {{ name: string, role: string, marks: number, spread: number, broken: boolean, strays: string[], collisions: string[], hasTable: boolean }[]} pictures
 */
