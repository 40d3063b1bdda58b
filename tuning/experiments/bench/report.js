import { answer, drawn, list, method, titled } from '../../../load/report/blocks.js'
import { count, wholePercent } from '../../../load/report/format.js'
import { median } from '../../../load/verdict/ranks.js'
import { isFullShare } from '../../stats/sound.js'
import { spreadOf } from '../../stats/tables.js'
import { SATURATION_CONNECTIONS, TABLES } from './tables.js'

/**
 * @import { Block } from '../../../load/report/blocks.js'
 * @import { Dots } from '../../../load/report/picture.js'
 * @import { BenchFindings, Server } from './bench.js'
 */

/** Tables whose first column is the throughput of a closed loop. */
const CLOSED_TABLES = ['closed', 'far', 'direct']

const DIRECT_METHOD =
  'The clients without a service ran on the core of the API. The CPU of pgbench does not include that of opening its connections, which a separate run measured before each trial.'

/** @param {BenchFindings} findings */
export function benchReport({ servers: all, repeats, closed_driver }) {
  const [direct, far, crowds] = ['direct', 'far', 'crowd'].map((kind) => all.filter((one) => one.kind === kind))
  const servers = all.filter(({ kind }) => kind === 'server' || kind === 'floor')
  const busy = servers.filter(({ values }) => values.busy['CPU us each'].length > 0)
  const batched = servers.filter(({ name }) => name === 'batched')
  return [
    answer(sentence(servers.some(({ kind }) => kind === 'server') ? servers : [...far, ...crowds, ...direct])),
    ...insertsPicture(servers),
    ...['closed', 'rates'].flatMap((name) => tableOf(name, servers)),
    ...tableOf('busy', busy),
    ...tableOf('half', servers),
    ...tableOf('far', far),
    ...tableOf('crowd', crowds),
    ...(direct.length > 0 ? tableOf('direct', [...batched, ...direct]) : []),
    list(all.map(({ name, about }) => `${name}: ${about}`)),
    method([
      'Each server is a process of its own. All of them run at once and are loaded in turn, so the figures in a ratio are measured seconds apart.',
      `${repeats} blocks; in each, one kind of load after the other goes to every server, in a random order.`,
      `Closed loops by ${closed_driver}, open loops by paced, both on the other core.`,
      'Figures are medians over the blocks with [least–most]; ratios are taken within a block.',
      '≥: the generator was the limit, so the server can take more: its ratios to others are lower bounds, and the ratios of others to it upper bounds.',
      ...(direct.length > 0 ? [DIRECT_METHOD] : []),
    ]),
  ]
}

/**
 * The reason why servers have similar rates whatever they cost; empty if the core of one is full, or nothing was stored.
 * @param {Server[]} servers
 */
function boundText(servers) {
  const stored = servers.filter(({ kind }) => kind === 'server')
  const cores = stored.map(({ values }) => median(values.closed['CPU, of a core'])).filter(Number.isFinite)
  if (cores.length === 0 || cores.some(isFullShare)) return ''
  const [least, most] = [Math.min(...cores), Math.max(...cores)].map(wholePercent)
  return ` None of these servers fills its core (${least} to ${most} of it): Postgres and the generator, outside that core, limit their rates. So similar rates do not mean similar servers: compare the CPU per insert, next to each name.`
}

/** Servers that store rows, as bars, the fastest first. @param {Server[]} servers @returns {Block[]} */
function insertsPicture(servers) {
  const known = servers.flatMap(({ name, kind, values }) => {
    const value = spreadOf(values.closed['inserts/s'])
    const cost_us = median(values.closed['CPU us each'])
    const label = Number.isFinite(cost_us) ? `${name}, ${cost_us.toFixed(1)} us of CPU` : name
    return kind === 'server' && value ? [{ label, value }] : []
  })
  const sorted = known.sort((a, b) => b.value.value - a.value.value)
  if (sorted.length === 0) return []
  /** @type {Dots} */
  const form = {
    kind: 'dots',
    x: { title: 'durable inserts per second', unit: 'rate', min: 0 },
    labels: sorted.map(({ label }) => label),
    series: [{ name: 'inserts', values: sorted.map(({ value }) => value) }],
    bars: true,
  }
  const about = [
    `Closed loop, ${SATURATION_CONNECTIONS} connections. Bars are medians over the blocks, whiskers the lowest and the highest block.`,
    `Next to each name: the CPU that its process takes for an insert.${boundText(servers)}`,
    'batched, pipelined, prepared and single are modes of this API; the other bars are the same service written with other frameworks and clients.',
  ].join(' ')
  return [drawn({ name: 'inserts', title: 'Durable inserts per second on one core', about, form })]
}

/** @param {string} name @param {Server[]} servers */
function tableOf(name, servers) {
  const { about, columns } = TABLES[name]
  const rows = servers.map((server) => {
    const cells = columns.map(({ head, text }) => text(server.values[name][head]))
    if (CLOSED_TABLES.includes(name) && server.is_generator_full) cells[0] = `≥ ${cells[0]}`
    return [server.name, ...cells]
  })
  return titled(about, [name === 'direct' ? 'client' : 'server', ...columns.map(({ head }) => head)], rows, { name })
}

/** @param {Server[]} servers */
function sentence(servers) {
  const stored = servers.flatMap(({ name, about, kind, values, is_generator_full }) => {
    const rate_rps = median(values.closed['inserts/s'])
    return kind === 'floor' || Number.isNaN(rate_rps) ? [] : [{ name, about, rate_rps, is_generator_full }]
  })
  const sorted = stored.sort((a, b) => b.rate_rps - a.rate_rps)
  const [best, next] = sorted.map(({ name, about, rate_rps, is_generator_full }) => {
    return `${name} (${about}), ${is_generator_full ? 'at least ' : ''}${count(Math.round(rate_rps))}/s`
  })
  return best ? `Most inserts in a closed loop: ${best}${next ? `; then ${next}` : ''}.` : 'Nothing was stored.'
}
