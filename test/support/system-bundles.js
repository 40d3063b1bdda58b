/**
 * Files of test/system that run in one process, by the name of the bundle in test/system-bundles: those whose work costs little
 * more than a process that loads tap, pg and the lab. None changes what belongs to its process (environment, signals, folder)
 * for longer than one of its tests, and none measures its process.
 */
export const SYSTEM_BUNDLES = {
  api: filesIn('test/system/api', ['body', 'fuzz', 'headers', 'idempotency', 'ids', 'insert', 'lifetime', 'requests']),
  'api-failures': filesIn('test/system/api', ['faults', 'refused', 'tls', 'unknown']),
  load: filesIn('test/system/load', [
    'checkouts',
    'measurement',
    'ports',
    'response',
    'results',
    'secrets',
    'spoilers',
    'ssh-nofile',
    'ssh-parts',
    'sweep',
    'tally',
  ]),
  tuning: filesIn('test/system/tuning', [
    ...['ablate', 'balance', 'bench', 'compare', 'ec2', 'faults', 'gate-action', 'gate-refs', 'gate-services', 'knobs'],
    ...['pgbouncer', 'processes', 'programs', 'ramp', 'verb-balance'],
  ]),
}

/** @param {string} folder @param {string[]} names */
function filesIn(folder, names) {
  return names.map((name) => `${folder}/${name}.test.js`)
}
