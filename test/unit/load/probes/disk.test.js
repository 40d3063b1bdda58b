import t from 'tap'
import { diskUse, parseDisks } from '../../../../load/probes/disk.js'

t.test('disks: whole ones are summed up, the busiest counts', async (t) => {
  const text = (/** @type {number[]} */ [read, written, busy, flushes = 0, flushing = 0]) =>
    [
      `   8       0 sda 9 9 ${read} 9 9 9 ${written} 9 0 ${busy} 9 0 0 0 0 ${flushes} ${flushing}`,
      `   8       1 sda1 9 9 ${read} 9 9 9 ${written} 9 0 ${busy} 9 0 0 0 0 ${flushes} ${flushing}`,
      ` 259       0 nvme0n1 9 9 100 9 9 9 ${written} 9 0 10 9`,
      `   7       0 loop0 9 9 ${read} 9 9 9 ${written} 9 0 ${busy} 9`,
      ` 253       0 dm-0 9 9 ${read} 9 9 9 ${written} 9 0 ${busy} 9`,
    ].join('\n')
  const disks = (/** @type {number[]} */ values) => parseDisks(text(values), (name) => name !== 'sda1')
  t.strictSame(Object.keys(disks([0, 0, 0])), ['sda', 'nvme0n1'])
  t.strictSame(diskUse(disks([0, 0, 0]), disks([2, 10, 500, 40, 300]), 1000), {
    read_bytes: 1024,
    written_bytes: 10_240,
    busy_ratio: 0.5,
    flushes: 40,
    flush_ratio: 0.3,
  })
})
