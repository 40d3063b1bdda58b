import { answer, list, method, titled } from '../../../load/report/blocks.js'
import { count } from '../../../load/report/format.js'
import { median } from '../../../load/verdict/ranks.js'
import { TABLES } from './tables.js'

/** @import { BenchFindings, Server } from './bench.js' */

const DIRECT_METHOD =
  'The clients without a service ran on the core of the API, in its place. The CPU of pgbench is without that of opening its connections, which a separate run measured before each trial.'

/** @param {BenchFindings} findings */
export function benchReport({ servers: all, repeats }) {
  const direct = all.filter(({ kind }) => kind === 'direct')
  const far = all.filter(({ kind }) => kind === 'far')
  const servers = all.filter(({ kind }) => kind === 'server' || kind === 'floor')
  const batched = servers.filter(({ name }) => name === 'batched')
  return [
    answer(sentence(servers.some(({ kind }) => kind === 'server') ? servers : direct)),
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
  const stored = servers.flatMap(({ name, about, kind, values }) => {
    const rate_rps = median(values.closed['inserts/s'])
    return kind === 'floor' || Number.isNaN(rate_rps) ? [] : [{ name, about, rate_rps }]
  })
  const sorted = stored.sort((a, b) => b.rate_rps - a.rate_rps)
  const [best, next] = sorted.map(({ name, about, rate_rps }) => `${name} (${about}), ${count(Math.round(rate_rps))}/s`)
  return best ? `Most inserts in a closed loop: ${best}${next ? `; then ${next}` : ''}.` : 'Nothing was stored.'
}
