import { answer, drawn, list, method, paragraph, table } from '../../../load/report/blocks.js'
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

const DIRECT_METHOD =
  'The clients without a service ran on the core of the API, in its place. The CPU of pgbench is without that of opening its connections, which a run of its own measured before each trial.'

/** @param {BenchFindings} findings @returns {Block[]} */
export function benchReport({ servers: all, repeats }) {
  const direct = all.filter(({ is_direct }) => is_direct)
  const far = all.filter(({ is_far }) => is_far)
  const servers = all.filter(({ is_direct, is_far }) => !is_direct && !is_far)
  return [
    answer(sentence(servers.some(({ stores }) => stores) ? servers : direct)),
    ...pictures(servers).map(drawn),
    ...(servers.length > 0 ? serversBlocks(servers) : []),
    ...(far.length > 0 ? farBlocks(far) : []),
    ...(direct.length > 0 ? directBlocks(servers, direct) : []),
    list(all.map(({ name, about }) => `${name}: ${about}`)),
    method([
      `${repeats} blocks, each with every server once, in an order of its own; each server is a process of its own.`,
      'Figures are medians over the blocks with [least–most]; ratios are taken within a block.',
      '≥: the generator was the limit, the server takes more.',
      ...(direct.length > 0 ? [DIRECT_METHOD] : []),
    ]),
  ]
}

/** @param {Server[]} servers @returns {Block[]} */
function serversBlocks(servers) {
  return [
    paragraph(
      `**As fast as it goes**: closed loop, ${SATURATION_CONNECTIONS} connections; CPU of the service's process.`,
    ),
    serversTable('closed', servers),
    paragraph(
      `**At rates that are the same for all**: open loop; p50 and CPU at ${count(LOW_RATE_RPS)}/s, CPU at ${count(HIGH_RATE_RPS)}/s for servers that reach it.`,
    ),
    serversTable('rates', servers),
    paragraph('**At half of what each server takes**: open loop.'),
    serversTable('half', servers),
  ]
}

/** @param {Server[]} far @returns {Block[]} */
function farBlocks(far) {
  return [
    paragraph(
      `**Far from the database**: batched, with a proxy that makes each round trip longer; closed loop, ${count(CROWD_CONNECTIONS)} connections, ` +
        `and an open loop at ${CROWD_LOW_RATE_RPS}/s. A managed database is about as far as rtt-1: expect its round trip on top of ` +
        'each latency. A closed loop cannot take more than its connections divided by the latency.',
    ),
    serversTable('far', far),
  ]
}

/** @param {Server[]} servers @param {Server[]} direct @returns {Block[]} */
function directBlocks(servers, direct) {
  const batched = servers.filter(({ name }) => name === 'batched')
  const ratios = direct.flatMap(({ name, values }) => {
    const ratio = spreadOf(values[DIRECT_RATIO])
    return ratio ? [`${name} ${decimal(ratio.value, 2)}`] : []
  })
  const toBatched = `Rows per second relative to \`batched\` in the same block: ${ratios.join(', ')}. A ratio above 1 is headroom between the API and the database.`
  return [
    paragraph(
      '**The database without a service in front of it**: the same rows without HTTP, from a client on the core of the service; the ' +
        "last column is the CPU of all of Postgres' processes, as a share of one core.",
    ),
    ...(ratios.length > 0 ? [paragraph(toBatched)] : []),
    serversTable('direct', [...batched, ...direct]),
  ]
}

/** @param {string} name @param {Server[]} servers */
function serversTable(name, servers) {
  const columns = COLUMNS.flatMap((column, i) => (column.table === name ? [{ ...column, i }] : []))
  const rows = servers.map((server) => {
    const cells = columns.map(({ i, text }) => {
      return `${i === INSERTS && server.is_generator_full ? '≥ ' : ''}${text(server.values[i])}`
    })
    return [server.name, ...cells]
  })
  return table([name === 'direct' ? 'client' : 'server', ...columns.map(({ head }) => head)], rows, { name })
}

/** @param {Server[]} servers */
function sentence(servers) {
  const stored = servers.flatMap(({ name, about, stores, values }) => {
    const rate_rps = spreadOf(values[INSERTS])?.value
    return stores && rate_rps !== undefined ? [{ name, about, rate_rps }] : []
  })
  const sorted = stored.sort((a, b) => b.rate_rps - a.rate_rps)
  const [best, next] = sorted.map(({ name, about, rate_rps }) => `${name} (${about}), ${count(Math.round(rate_rps))}/s`)
  return best ? `Most inserts in a closed loop: ${best}${next ? `; then ${next}` : ''}.` : 'Nothing was stored.'
}

/** The servers beside each other, as fast as they go. @param {Server[]} servers @returns {Picture[]} */
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
      title: 'Inserts per second, as fast as it goes',
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
