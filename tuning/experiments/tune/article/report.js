import { answer, drawn, method, paragraph, table } from '../../../../load/report/blocks.js'
import { count, NONE } from '../../../../load/report/format.js'
import { verdictsText } from '../../../stats/effects.js'
import { columnsOf, spread } from '../../../stats/tables.js'
import { FIGURES } from './article.js'

/**
 * @import { Block } from '../../../../load/report/blocks.js'
 * @import { Picture } from '../../../../load/report/picture.js'
 * @import { ArticleFindings, Figures } from './article.js'
 */

const NAMES = { paced: 'bounded', 'vegeta-unbounded': 'defaults' }

/** Published figures next to measured ones, and a verdict on each conclusion. @param {ArticleFindings} findings @returns {Block[]} */
export function articleReport(findings) {
  const { conclusions, peak_rps, published_rps, blocks, duration_s, scale, timeout_s, sockets, idle } = findings
  if (peak_rps === null) return []
  const verdicts = conclusions.map(({ published, by, verdict, evidence }) => {
    return [published, by, `**${verdict}**`, evidence.join('; ') || NONE]
  })
  return [
    answer(`Of ${conclusions.length} published conclusions: ${verdictsText(conclusions)}.`),
    drawn(successPicture(findings)),
    paragraph('Row numbers refer to the second table.'),
    table(['published', 'claimed by', 'here', 'evidence'], verdicts, {
      name: 'conclusions',
      align: ['l', 'l', 'l', 'l'],
    }),
    rowsTable(findings),
    ...(sockets.length > 0 ? [socketsTable(sockets)] : []),
    paragraph(
      `Rates are scaled by ${count(Math.round(peak_rps))} / ${count(published_rps)}: ${count(published_rps)}/s is the highest rate at which the article saw no failures, and its service reaches ${count(Math.round(peak_rps))}/s on this machine in a closed loop. Achieved/s divides the responses by the time until the last of them, so it is below the offered rate where a backlog drains after the load.${scale === 1 ? '' : ` *timeout ms* is the article's timeout for a database connection; ours was ${scale.toPrecision(2)} times that, so that it can expire on this machine, too. That is too short to open a connection under load, so the pool is filled before each trial. A request's timeout is ${timeout_s} s (published: 30 s); the longer latencies of vegeta at its defaults come from trials in which its core was saturated. API's files are those that were open at the end of a trial, when vegeta at its defaults had few connections left.`} ${blocks} blocks, trials of ${duration_s} s (published: 30 s, once).`,
    ),
    ...(idle ? [paragraph(idle)] : []),
    method([
      `${blocks} blocks, each with every row by both generators in a varying random order. Figures are medians over the blocks. Ratios are taken within a block; their 95 % intervals are computed from ranks (Hodges-Lehmann, Wilcoxon's signed ranks).`,
      "`defaults`: vegeta with its own defaults, as in the article; a trial that it spoilt itself is shown all the same. `bounded`: Redline's open loop over a fixed set of connections; latency counts from the intended send time. A conclusion about settings of the service is decided by the bounded generator: where vegeta with its defaults collapses, its success is a matter of vegeta.",
      "Limit: what the counters named in each trial. API's files: open at the end of the trial; most of them are sockets. Ports: files of the generator, and ports in TIME_WAIT.",
      'Code 0: requests that ended without an answer, on whichever side. What the article calls 500 is a 503 here.',
    ]),
  ]
}

/** @param {ArticleFindings} findings */
function rowsTable({ rows }) {
  const figures = Object.values(FIGURES)
  const lines = rows.flatMap(({ published, offered_rps, measured }, i) => {
    const set = [published.pool_max, published.connect_timeout_ms, published.nofile].map(String)
    return [
      [`${i + 1} published`, count(published.offered_rps), ...set, ...figuresOf(published), NONE],
      ...measured.map((one) => {
        const own = one.trials === 0 ? figures.map(() => NONE) : figuresOf(one)
        return [`${i + 1} ${NAMES[one.generator]}`, count(offered_rps), ...set, ...own, one.limits.join(', ') || NONE]
      }),
    ]
  })
  const head = ['row', 'offered', 'pool', 'timeout ms', 'nofile', ...figures.map(([title]) => title), 'limit']
  return table(head, lines, { name: 'rows' })
}

/** @param {ArticleFindings['sockets']} sockets */
function socketsTable(sockets) {
  const [head, rows] = columnsOf(sockets, [
    ['open sockets, all in use', ({ sockets }) => count(sockets)],
    ['goodput/s', ({ goodput_rps }) => spread([goodput_rps], 0)],
    ['context switches per request', ({ switches }) => spread([switches], 2)],
    ['CPU us per request', ({ cpu_us }) => spread([cpu_us], 1)],
  ])
  return table(head, rows, { name: 'sockets' })
}

/** @param {Partial<Figures>} row unpublished figures are undefined */
function figuresOf(row) {
  return Object.entries(FIGURES).map(([name, [, text]]) => text(/** @type {any} */ (row)[name]))
}

/** The article's success ratios next to those of the same settings here. @param {ArticleFindings} findings @returns {Picture} */
function successPicture({ rows }) {
  return {
    name: 'success',
    title: 'Success ratio, published and here',
    about:
      'The same shares of the peak offered to the same settings; medians of the blocks, from the least to the most.',
    form: {
      kind: 'dots',
      x: { title: 'successes of the requests', unit: 'share', min: 0, max: 1 },
      labels: rows.map(({ published: { pool_max, nofile, connect_timeout_ms } }, i) => {
        return `${i + 1}: pool ${pool_max}, files ${nofile}, ${connect_timeout_ms / 1000} s`
      }),
      series: [
        { name: 'published', values: rows.map(({ published }) => ({ value: published.success_ratio })) },
        ...["here, vegeta's defaults", 'here, bounded connections'].map((name, i) => {
          return { name, values: rows.map(({ measured }) => measured[i].success) }
        }),
      ],
    },
  }
}
