import { answer, drawn, list, method, titled } from '../../../load/report/blocks.js'
import { count } from '../../../load/report/format.js'
import { spreadOf } from '../../stats/spread.js'
import { TABLES } from './tables.js'

/**
 * @import { Block } from '../../../load/report/blocks.js'
 * @import { BenchFindings, Server } from './bench.js'
 */

const DIRECT_METHOD =
  'The clients without a service ran on the core of the API, in its place. The CPU of pgbench is without that of opening its connections, which a separate run measured before each trial.'

/** @param {BenchFindings} findings @returns {Block[]} */
export function benchReport({ servers: all, repeats }) {
  const direct = all.filter(({ kind }) => kind === 'direct')
  const far = all.filter(({ kind }) => kind === 'far')
  const servers = all.filter(({ kind }) => kind === 'server' || kind === 'floor')
  const batched = servers.filter(({ name }) => name === 'batched')
  return [
    answer(sentence(servers.some(({ kind }) => kind === 'server') ? servers : direct)),
    ...picture(servers),
    ...['closed', 'rates', 'half'].flatMap((name) => tableOf(name, servers)),
    ...tableOf('far', far),
    ...(direct.length > 0 ? tableOf('direct', [...batched, ...direct]) : []),
    list(all.map(({ name, about }) => `${name}: ${about}`)),
    method([
      `${repeats} blocks, each with every server once, in an order of its own; each server is a process of its own.`,
      'Figures are medians over the blocks with [least–most]; ratios are taken within a block.',
      '≥: the generator was the limit, the server takes more.',
      ...(direct.length > 0 ? [DIRECT_METHOD] : []),
    ]),
  ]
}

/** @param {string} name @param {Server[]} servers */
function tableOf(name, servers) {
  const { about, columns } = TABLES[name]
  const rows = servers.map((server) => {
    const cells = columns.map(({ head, text }) => text(server.values[name][head]))
    if (name === 'closed' && server.is_generator_full) cells[0] = `≥ ${cells[0]}`
    return [server.name, ...cells]
  })
  return titled(about, [name === 'direct' ? 'client' : 'server', ...columns.map(({ head }) => head)], rows, { name })
}

/** @param {Server[]} servers */
function sentence(servers) {
  const stored = ratesOf(servers).filter(({ kind }) => kind !== 'floor')
  const sorted = stored.sort((a, b) => b.rate.value - a.rate.value)
  const [best, next] = sorted.map(({ name, about, rate }) => `${name} (${about}), ${count(Math.round(rate.value))}/s`)
  return best ? `Most inserts in a closed loop: ${best}${next ? `; then ${next}` : ''}.` : 'Nothing was stored.'
}

/** The closed loops side by side. @param {Server[]} servers @returns {Block[]} */
function picture(servers) {
  const rates = ratesOf(servers)
  if (rates.length === 0) return []
  return [
    drawn({
      name: 'inserts',
      title: 'Inserts per second, as fast as possible',
      about: 'Closed loop; medians of the blocks, from the least to the most. no-op and json store nothing.',
      form: {
        kind: 'dots',
        bars: true,
        x: { title: 'inserts per second', unit: 'rate', min: 0 },
        labels: rates.map(({ name }) => name),
        series: [{ name: 'median', values: rates.map(({ rate }) => rate) }],
      },
    }),
  ]
}

/** Those with a closed loop, and its rate. @param {Server[]} servers */
function ratesOf(servers) {
  return servers.flatMap((server) => {
    const rate = spreadOf(server.values.closed['inserts/s'])
    return rate ? [{ ...server, rate }] : []
  })
}
