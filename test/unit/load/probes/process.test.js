import t from 'tap'
import { parentsIn } from '../../../../load/probes/process.js'

t.test('the parents of processes, as ps of macOS and of Linux pads them', async (t) => {
  t.strictSame(parentsIn('    1     0\n  501     1\n12345   501\n'), [
    [1, 0],
    [501, 1],
    [12345, 501],
  ])
  t.strictSame(parentsIn(''), [])
})
