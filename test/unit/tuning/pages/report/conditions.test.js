import t from 'tap'
import { machineDifference } from '../../../../../tuning/pages/report/conditions.js'

t.test('runs whose sides ran on other machines are of different machines', async (t) => {
  const machine = { cpu_model: 'EPYC', cores: 2, memory_bytes: 2 ** 33, kernel: 'Linux 6' }
  const source = (/** @type {string} */ name, /** @type {number} */ cores) => {
    const target_machines = { b: { name: 'root@box', node: 'v26.1.0', ...machine, cores } }
    return /** @type {any} */ ({ name, run: { machine, target_machines } })
  }
  t.equal(machineDifference([source('A', 2), source('B', 2)]), null)
  t.equal(
    machineDifference([source('A', 2), source('B', 8)]),
    'A and B are of different machines: target b cores 2 against 8',
  )
})
