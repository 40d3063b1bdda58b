import { answer, drawn, list, method, paragraph, table } from '../../../load/report/blocks.js'
import { count, milliseconds, NONE, wholePercent } from '../../../load/report/format.js'
import { spread } from '../../stats/spread.js'

/**
 * @import { Block, Table } from '../../../load/report/blocks.js'
 * @import { Picture } from '../../../load/report/picture.js'
 * @import { BenchFindings, Server } from './bench.js'
 */

/** @typedef {Record<string, (server: Server) => string>} Columns the figures of each server, below their heads */

/** @param {BenchFindings} findings @returns {Block[]} */
export function benchReport({ servers, repeats, connections, low_rps, high_rps }) {
  const high = `at ${count(high_rps)}/s`
  return [
    answer(sentence(servers)),
    ...pictures(servers).map(drawn),
    paragraph(`**As fast as it goes**: closed loop, ${connections} connections; CPU of the service's process.`),
    serversTable('closed', servers, {
      'inserts/s': ({ is_generator_full, closed }) =>
        `${is_generator_full ? '≥ ' : ''}${spread(closed.inserts_rps, 0)}`,
      'of batched': ({ closed }) => spread(closed.inserts_of_batched, 2),
      'CPU us each': ({ closed }) => spread(closed.cpu_us, 1),
      'x no-op': ({ closed }) => spread(closed.cpu_of_no_op, 2),
      'CPU of batched': ({ closed }) => spread(closed.cpu_of_batched, 2),
      core: ({ closed }) => wholePercent(closed.core_ratio),
    }),
    paragraph(
      `**At rates that are the same for all**: open loop; p50 and CPU at ${count(low_rps)}/s, CPU ${high} for servers that reach it.`,
    ),
    serversTable('rates', servers, {
      p50: ({ low }) => milliseconds(low.p50_ms),
      'CPU us each': ({ low }) => spread(low.cpu_us, 0),
      'x no-op': ({ low }) => spread(low.cpu_of_no_op, 2),
      'of batched': ({ low }) => spread(low.cpu_of_batched, 2),
      [`${high}: CPU us each`]: (server) => spread(server.high.cpu_us, 1),
      [`${high}: x no-op`]: (server) => spread(server.high.cpu_of_no_op, 2),
    }),
    paragraph('**At half of what each server takes**: open loop.'),
    serversTable('half', servers, {
      offered: ({ half }) => (Number.isNaN(half.rate_rps) ? NONE : `${count(Math.round(half.rate_rps))}/s`),
      p50: ({ half }) => milliseconds(half.p50_ms),
      p99: ({ half }) => milliseconds(half.p99_ms),
    }),
    list(servers.map(({ name, about }) => `${name}: ${about}`)),
    method([
      `${repeats} blocks, each with every server once, in an order of its own; each server is a process of its own.`,
      'Figures are medians over the blocks with [least–most]; ratios are taken within a block.',
      '≥: the generator was the limit, the server takes more.',
    ]),
  ]
}

/** @param {string} name @param {Server[]} servers @param {Columns} columns @returns {Table} */
function serversTable(name, servers, columns) {
  const rows = servers.map((server) => [server.name, ...Object.values(columns).map((text) => text(server))])
  return table(['server', ...Object.keys(columns)], rows, { name })
}

/** @param {Server[]} servers */
function sentence(servers) {
  const stored = servers.flatMap(({ name, about, stores, closed: { inserts } }) =>
    stores && inserts ? [{ name, about, value: inserts.value }] : [],
  )
  const sorted = stored.sort((a, b) => b.value - a.value)
  const [best, next] = sorted.map(({ name, about, value }) => `${name} (${about}), ${count(Math.round(value))}/s`)
  return best ? `Most inserts in a closed loop: ${best}${next ? `; then ${next}` : ''}.` : 'Nothing was stored.'
}

/** The servers beside each other, as fast as they go. @param {Server[]} servers @returns {Picture[]} */
function pictures(servers) {
  const known = servers.filter(({ closed }) => closed.inserts !== null)
  if (known.length === 0) return []
  const bars = { kind: /** @type {const} */ ('dots'), bars: true, labels: known.map(({ name }) => name) }
  return [
    {
      name: 'inserts',
      title: 'Inserts per second, as fast as it goes',
      about: 'Closed loop; medians of the blocks, from the least to the most. no-op and json store nothing.',
      form: {
        ...bars,
        x: { title: 'inserts per second', unit: 'rate', min: 0 },
        series: [{ name: 'median', values: known.map(({ closed }) => closed.inserts) }],
      },
    },
    {
      name: 'cpu',
      title: 'CPU per insert',
      about: "CPU of the service's process in the same loops: less is better.",
      form: {
        ...bars,
        x: { title: 'us per insert', unit: 'us', min: 0 },
        series: [{ name: 'median', values: known.map(({ closed }) => closed.cpu) }],
      },
    },
  ]
}
