/**
 * The runs that the pages quote, in the order of measurement: the front page's first. minutes: rough duration; env: in addition to the
 * verb's defaults; sides: files of settings that the flags name; whole: further flags, unless a run is to be short.
 * @typedef {{ name: string, minutes: number, argv: string[], whole?: string[], env?: Record<string, string>, sides?: Record<string, string>, needsVegeta?: boolean }} KeptRun
 * @type {readonly KeptRun[]}
 */
export const RUNS = [
  { name: 'sweep-batched', minutes: 7, argv: ['sweep'], whole: ['--sustained', '60s'] },
  { name: 'sweep-single', minutes: 6, argv: ['sweep'], whole: ['--sustained', '60s'], env: { INSERT_MODE: 'single' } },
  { name: 'tune', minutes: 7, argv: ['tune'] },
  { name: 'article', minutes: 28, argv: ['tune', '--preset', 'article'], needsVegeta: true },
  { name: 'bench', minutes: 21, argv: ['bench', '--driver', 'wrk'] },
  { name: 'overload', minutes: 7, argv: ['overload'] },
  {
    name: 'overload-far',
    minutes: 7,
    argv: ['overload', '--db-delay', '5ms'],
    env: { BATCH_MAX_ROWS: '20', MAX_QUEUE_MS: '100' },
  },
  { name: 'compare', minutes: 12, ...sides('compare') },
  { name: 'ramp', minutes: 7, ...sides('ramp', '--latency-ceiling', '15ms') },
  { name: 'ablate', minutes: 15, argv: ['ablate'] },
  { name: 'pgbouncer', minutes: 20, argv: ['tune', '--preset', 'pgbouncer'] },
  { name: 'growth', minutes: 20, argv: ['tune', '--preset', 'growth'] },
  { name: 'playbook', minutes: 90, argv: ['playbook'], needsVegeta: true },
  { name: 'balance', minutes: 16, argv: ['balance'] },
  { name: 'processes', minutes: 3, argv: ['processes'] },
  { name: 'soak', minutes: 31, argv: ['soak'] },
  { name: 'faults', minutes: 85, argv: ['faults'], whole: ['--proof', '--blocks', '3'] },
]

/** The API with a statement per row, against the API with shared statements. @param {string} verb @param {string[]} flags */
function sides(verb, ...flags) {
  return {
    argv: [verb, '--a', 'single.env', '--b', 'batched.env', ...flags],
    sides: { 'single.env': 'INSERT_MODE=single\n', 'batched.env': 'INSERT_MODE=batched\n' },
  }
}
