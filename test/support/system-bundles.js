/**
 * Files of test/system that run in one process, by the name of the bundle in test/system-bundles: another process for each would
 * have to load tap, pg and the lab. None changes what belongs to its process (environment, signals, folder) for longer than
 * one of its tests, and none measures its process. tap starts the bundles first, so that no long one is left for the end.
 */
export const SYSTEM_BUNDLES = {
  api: filesIn('test/system/api', [
    ...['admission', 'body', 'fuzz', 'headers', 'idempotency', 'ids', 'insert', 'lifetime', 'requests'],
  ]),
  'api-failures': filesIn('test/system/api', ['faults', 'refused', 'tls', 'unknown']),
  'api-lifecycle': filesIn('test/system/api', ['lifecycle', 'framing']),
  'api-waits': filesIn('test/system/api', ['failover', 'readiness']),
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
  'load-database': filesIn('test/system/load', ['database-runs', 'given-database']),
  'load-doses': filesIn('test/system/load', ['commit-dose', 'dosing', 'speed', 'together']),
  'load-services': filesIn('test/system/load', ['evidence', 'hostile', 'replay', 'started']),
  sql: filesIn('test/system/sql', ['claim', 'fetched', 'scratch']),
  tuning: filesIn('test/system/tuning', [
    ...['ablate', 'balance', 'bench', 'compare', 'ec2', 'faults', 'gate-action', 'gate-refs', 'gate-services', 'knobs'],
    ...['pgbouncer', 'processes', 'programs', 'ramp', 'verb-balance'],
  ]),
  'tuning-pages': filesIn('test/system/tuning', ['campaign', 'page', 'report']),
}

/** @param {string} folder @param {string[]} names */
function filesIn(folder, names) {
  return names.map((name) => `${folder}/${name}.test.js`)
}
