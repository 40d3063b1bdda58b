import fs from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { cpuQuotaCores } from '../../../../load/probes/quota.js'

const V2 = '0::/app/lab\n'
const V1 = '5:memory:/elsewhere\n4:cpu,cpuacct:/app/lab\n0::/\n'
const CONTROLLERS = { 'cgroup.controllers': 'cpu memory' }
const UNLIMITED = Number.POSITIVE_INFINITY

const rows = [
  ['version 2, its own quota', V2, { ...CONTROLLERS, 'app/lab/cpu.max': '150000 100000\n' }, 1.5],
  [
    'version 2, one above it',
    V2,
    { ...CONTROLLERS, 'app/lab/cpu.max': 'max 100000\n', 'app/cpu.max': '50000 100000\n' },
    0.5,
  ],
  ['version 2, none', V2, { ...CONTROLLERS, 'app/lab/cpu.max': 'max 100000\n' }, UNLIMITED],
  ['version 2, in a container that sees its own root alone', V2, { ...CONTROLLERS, 'cpu.max': '200000 100000\n' }, 2],
  [
    'version 1, its own quota',
    V1,
    { 'cpu,cpuacct/app/lab/cpu.cfs_quota_us': '75000\n', 'cpu,cpuacct/app/lab/cpu.cfs_period_us': '50000\n' },
    1.5,
  ],
  ['version 1, none', V1, { 'cpu,cpuacct/app/lab/cpu.cfs_quota_us': '-1\n' }, UNLIMITED],
  ['no control groups', null, {}, null],
  ['none for CPU', '5:memory:/elsewhere\n', {}, null],
]

t.test('cpuQuotaCores', async (t) => {
  for (const [
    about,
    groups,
    files,
    cores,
  ] of /** @type {[string, string | null, Record<string, string>, number | null][]} */ (rows)) {
    const root = t.testdir()
    for (const [name, text] of Object.entries(files)) {
      fs.mkdirSync(path.dirname(path.join(root, name)), { recursive: true })
      fs.writeFileSync(path.join(root, name), text)
    }
    t.equal(cpuQuotaCores(root, groups), cores, about)
  }
})
