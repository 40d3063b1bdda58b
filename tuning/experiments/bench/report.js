import { answer, drawn, list, method, paragraph, titled } from '../../../load/report/blocks.js'
import { count, decimal } from '../../../load/report/format.js'
import { spreadOf } from '../../stats/spread.js'
import {
  COLUMNS,
  CROWD_CONNECTIONS,
  CROWD_LOW_RATE_RPS,
  HIGH_RATE_RPS,
  LOW_RATE_RPS,
  SATURATION_CONNECTIONS,
} from './columns.js'

/**
 * @import { Block } from '../../../load/report/blocks.js'
 * @import { Picture } from '../../../load/report/picture.js'
 * @import { BenchFindings, Server } from './bench.js'
 */

/** Columns of the closed loop that the answer and the pictures show. */
const [INSERTS, CPU] = ['inserts/s', 'CPU us each'].map((head) => COLUMNS.findIndex((column) => column.head === head))
const DIRECT_RATIO = COLUMNS.findIndex(({ table, by }) => table === 'direct' && by)

/** What each table shows. @type {Record<string, string>} */
const TABLES = {
  closed: `**As fast as possible**: closed loop, ${SATURATION_CONNECTIONS} connections; CPU of the service's process.`,
  rates: `**At the same rates for all**: open loop; p50 and CPU at ${count(LOW_RATE_RPS)}/s, CPU at ${count(HIGH_RATE_RPS)}/s for servers that reach it.`,
  half: '**At half of what each server takes**: open loop.',
  far:
    `**Far from the database**: batched, with a proxy that makes each round trip longer; closed loop, ${count(CROWD_CONNECTIONS)} connections, ` +
    `and an open loop at ${CROWD_LOW_RATE_RPS}/s. A managed database is about as far as rtt-1: expect its round trip on top of ` +
    'each latency. A closed loop cannot take more than its connections divided by the latency.',
  direct:
    '**The database without a service in front of it**: the same rows without HTTP, from a client on the core of the service; the ' +
    "last column is the CPU of all of Postgres' processes, as a share of one core.",
}

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
    ...pictures(servers).map(drawn),
    ...['closed', 'rates', 'half'].flatMap((name) => tableOf(name, servers)),
    ...tableOf('far', far),
    ...(direct.length > 0 ? tableOf('direct', [...batched, ...direct]) : []),
    ...headroom(direct),
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
  const columns = COLUMNS.flatMap((column, i) => (column.table === name ? [{ ...column, i }] : []))
  const rows = servers.map((server) => {
    const cells = columns.map(({ i, text }) => {
      return `${i === INSERTS && server.is_generator_full ? '≥ ' : ''}${text(server.values[i])}`
    })
    return [server.name, ...cells]
  })
  const head = [name === 'direct' ? 'client' : 'server', ...columns.map(({ head }) => head)]
  return titled(TABLES[name], head, rows, { name })
}

/** @param {Server[]} direct */
function headroom(direct) {
  const ratios = direct.flatMap(({ name, values }) => {
    const ratio = spreadOf(values[DIRECT_RATIO])
    return ratio ? [`${name} ${decimal(ratio.value, 2)}`] : []
  })
  if (ratios.length === 0) return []
  return [
    paragraph(
      `Rows per second relative to \`batched\` in the same block: ${ratios.join(', ')}. A ratio above 1 is headroom between the API and the database.`,
    ),
  ]
}

/** @param {Server[]} servers */
function sentence(servers) {
  const stored = servers.flatMap(({ name, about, kind, values }) => {
    const rate_rps = spreadOf(values[INSERTS])?.value
    return kind !== 'floor' && rate_rps !== undefined ? [{ name, about, rate_rps }] : []
  })
  const sorted = stored.sort((a, b) => b.rate_rps - a.rate_rps)
  const [best, next] = sorted.map(({ name, about, rate_rps }) => `${name} (${about}), ${count(Math.round(rate_rps))}/s`)
  return best ? `Most inserts in a closed loop: ${best}${next ? `; then ${next}` : ''}.` : 'Nothing was stored.'
}

/** The closed loops side by side. @param {Server[]} servers @returns {Picture[]} */
function pictures(servers) {
  const known = servers.filter(({ values }) => spreadOf(values[INSERTS]) !== null)
  if (known.length === 0) return []
  const bars = (/** @type {number} */ column) => ({
    kind: /** @type {const} */ ('dots'),
    bars: true,
    labels: known.map(({ name }) => name),
    series: [{ name: 'median', values: known.map(({ values }) => spreadOf(values[column])) }],
  })
  return [
    {
      name: 'inserts',
      title: 'Inserts per second, as fast as possible',
      about: 'Closed loop; medians of the blocks, from the least to the most. no-op and json store nothing.',
      form: { ...bars(INSERTS), x: { title: 'inserts per second', unit: 'rate', min: 0 } },
    },
    {
      name: 'cpu',
      title: 'CPU per insert',
      about: "CPU of the service's process in the same loops: less is better.",
      form: { ...bars(CPU), x: { title: 'us per insert', unit: 'us', min: 0 } },
    },
  ]
}
