import fs from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { cpuQuotaCores, cpuThrottling } from '../../../../load/probes/quota.js'

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
    t.equal(cpuQuotaCores(mounted(t, files), groups), cores, about)
  }
})

/** Control groups as files. @param {any} t @param {Record<string, string>} files @returns {string} their root */
function mounted(t, files) {
  const root = t.testdir()
  for (const [name, text] of Object.entries(files)) {
    fs.mkdirSync(path.dirname(path.join(root, name)), { recursive: true })
    fs.writeFileSync(path.join(root, name), text)
  }
  return root
}

t.test('cpuThrottling adds up the time that every group with a quota was stopped', async (t) => {
  const v2 = {
    ...CONTROLLERS,
    'app/lab/cpu.max': '150000 100000\n',
    'app/lab/cpu.stat': 'usage_usec 9\nnr_throttled 4\nthrottled_usec 250000\n',
    'app/cpu.max': '50000 100000\n',
    'app/cpu.stat': 'throttled_usec 1500000\n',
    'cpu.max': 'max 100000\n',
    'cpu.stat': 'throttled_usec 7000000\n',
  }
  t.strictSame(cpuThrottling(1, mounted(t, v2), V2), { quota_cores: 0.5, throttled_s: 1.75 })
  const v1 = {
    'cpu,cpuacct/app/lab/cpu.cfs_quota_us': '75000\n',
    'cpu,cpuacct/app/lab/cpu.cfs_period_us': '50000\n',
    'cpu,cpuacct/app/lab/cpu.stat': 'nr_periods 5\nnr_throttled 3\nthrottled_time 125000000\n',
  }
  t.strictSame(cpuThrottling(1, mounted(t, v1), V1), { quota_cores: 1.5, throttled_s: 0.125 })
  t.equal(cpuThrottling(1, mounted(t, CONTROLLERS), V2), null, 'no quota')
})
