import path from 'node:path'
import t from 'tap'
import { list } from '../../../../load/report/blocks.js'
import { writeReport } from '../../../../load/report/write.js'

/** What a report says in its files. @param {string} folder @param {string} text */
async function writtenIn(folder, text) {
  /** @type {Record<string, string>} */
  const files = {}
  const writeText = (/** @type {string} */ name, /** @type {string} */ content) => {
    files[name] = content
  }
  await writeReport({ folder, writeText }, 'A run', [list([text])])
  return files
}

t.test('a section of the playbook is a link, from wherever the report is', async (t) => {
  const text = 'What to change next: less (tuning/PLAYBOOK.md#api-cpu).'
  const rows = [
    ['results/run', '../../tuning/PLAYBOOK.md#api-cpu'],
    [path.resolve('tuning/evidence/tune'), '../../PLAYBOOK.md#api-cpu'],
    [path.resolve('../a (1)/run'), `../../${path.basename(path.resolve('.'))}/tuning/PLAYBOOK.md#api-cpu`],
  ]
  for (const [folder, href] of rows) {
    const files = await writtenIn(folder, text)
    t.match(files['report.md'], `([tuning/PLAYBOOK.md#api-cpu](${href})).`, folder)
    t.match(files['report.html'], `(<a href="${href}">tuning/PLAYBOOK.md#api-cpu</a>).`, folder)
  }
})
