/**
 * Diagnosis of each resource that can be the limit, what to change next, and the settings of our API that change it.
 * @type {Record<string, [is: string, change: string, settings?: string]>}
 */
export const RESOURCES = {
  'api-cpu': [
    "the service's CPU core is overloaded",
    'do less work per request, or run a second process on a core of its own',
  ],
  'api-blocked': ['synchronous work blocks the event loop', 'move that work to a worker thread, or out of the request'],
  'api-threadpool': [
    "all of libuv's threads are busy",
    'give the service more cores (and raise UV_THREADPOOL_SIZE), or use a cheaper hash',
  ],
  'api-quota': [
    "the service's control group has used up its CPU quota",
    'raise the quota (cpu.max, `docker run --cpus`, the CPU limit in Kubernetes), or do less work per request',
  ],
  'api-gc': [
    "garbage collection takes too much of the service's time",
    'raise --max-old-space-size or --max-semi-space-size, or keep less in memory',
  ],
  'pool-size': [
    'all connections of the database pool are in use',
    'enlarge the pool to about 1.5 times the target rate times the mean time that a statement holds a connection',
    'POOL_MAX',
  ],
  'pool-timeout': [
    'requests give up while they wait for a database connection',
    'find out what holds the connections, or enlarge the pool; a longer timeout only moves the waiting',
    'POOL_MAX, POOL_CONNECT_TIMEOUT_MS',
  ],
  'postgres-cpu': [
    'the CPU that Postgres runs on is saturated',
    'give Postgres a core of its own, or do less work per row',
  ],
  'postgres-quota': [
    "Postgres' control group has used up its CPU quota",
    'raise the quota (cpu.max, `docker run --cpus`, the CPU limit in Kubernetes), or do less work per row',
  ],
  'postgres-commit': [
    'commits wait for the write-ahead log',
    'use a faster disk, or commit more rows at a time',
    'INSERT_MODE=batched',
  ],
  'postgres-lock': ['statements wait for a lock', 'find out who holds it: see pg_locks'],
  'postgres-connections': [
    'Postgres accepts no more connections',
    'raise max_connections, find out who else is connected, or make the pool smaller',
    'POOL_MAX',
  ],
  nofile: [
    'the service may open no more files',
    'raise its hard limit on open files (LimitNOFILE= in systemd, --ulimit nofile= for a container)',
  ],
  'max-connections': ['the service accepts no more connections', 'raise its limit', 'MAX_CONNECTIONS'],
  'accept-queue': [
    'new connections overflow the accept queue',
    'keep connections open, or raise net.core.somaxconn and the backlog that the service asks for',
    'LISTEN_BACKLOG',
  ],
  'keep-alive-race': [
    'the service closes idle connections while its clients use them',
    'announce the end by Connection: close, allow more connections (nginx closes idle ones when it runs out of worker_connections), or keep idle ones for longer than clients do',
    'KEEP_ALIVE_TIMEOUT_MS',
  ],
  'rate-limit': ['something in front of the service limits the rate', 'measure behind it, or raise its limit (429)'],
  network: [
    'most of the latency arises between the client and the service',
    'look at the path: distance, proxies, lost segments',
  ],
  'lock-step': [
    'stages take turns, and none of them is saturated',
    'shorten the longest stage, or let stages overlap: more statements in flight, more connections',
    'BATCH_SLOTS, POOL_MAX',
  ],
  'generator-cpu': [
    'the generator had too little CPU, or left too little to Postgres',
    'give the generator a core of its own, or use several machines (--load-hosts)',
  ],
  'generator-connections': [
    "all of the generator's connections were waiting for responses",
    'raise --connections, or the limit on open files if that is what caps them (ulimit -Hn): so few connections cannot carry this load',
  ],
  'generator-nofile': ['the generator could open no more files', "raise the generator's hard limit (ulimit -Hn)"],
  'generator-ports': [
    'the generator ran out of local ports',
    'widen net.ipv4.ip_local_port_range, or keep connections open',
  ],
  'machine-noise': ["something else used the service's core", 'find out what else runs on this machine'],
  'none-reached': ['no limit was reached', 'offer a higher rate'],
}

/** What to change next, with our API's settings for it if the service is ours. @param {string} resource @param {boolean} isOurs */
export function nextChange(resource, isOurs) {
  const [, change = '', settings] = RESOURCES[resource] ?? []
  return isOurs && settings ? `${change} (${settings})` : change
}
