/** Of each resource: what is so when it is the limit, and what to turn then. @type {Record<string, [is: string, turn: string]>} */
const WORDS = {
  'api-cpu': ['the core of the service is full', 'less work per request, or a second process on a core of its own'],
  'api-blocked': ['synchronous work blocks the event loop', 'that work, to a worker thread or out of the request'],
  'api-threadpool': [
    "libuv's threads are all busy",
    'more cores for the service (and UV_THREADPOOL_SIZE), or a cheaper hash',
  ],
  'api-quota': [
    "the service's control group has used up its CPU quota",
    'the quota (cpu.max, `docker run --cpus`, a CPU limit of Kubernetes), or less work per request',
  ],
  'api-gc': [
    'garbage collection takes the time of the service',
    '--max-old-space-size, --max-semi-space-size, or what is kept',
  ],
  'pool-size': [
    'the connections of the pool are all in use',
    'POOL_MAX: above the rate that is wanted x the time that a statement holds a connection',
  ],
  'pool-timeout': ['requests give up waiting for a database connection', 'POOL_CONNECT_TIMEOUT_MS, or POOL_MAX'],
  'postgres-cpu': ['the cores of Postgres are full', 'a core of its own for Postgres, or less work per row'],
  'postgres-commit': [
    'commits wait for the write-ahead log',
    'rows per commit (INSERT_MODE=batched), or a faster disk',
  ],
  'postgres-lock': ['statements wait for a lock', 'who holds it: pg_locks tells'],
  'postgres-connections': ['Postgres takes no more connections', 'max_connections, POOL_MAX, or who else is connected'],
  nofile: ['the service may open no more files', 'its hard limit of open files (ulimit -Hn, LimitNOFILE=)'],
  'max-connections': ['the service takes no more connections', 'MAX_CONNECTIONS'],
  'accept-queue': [
    'new connections do not fit into the accept queue',
    'LISTEN_BACKLOG and net.core.somaxconn, or keep connections open',
  ],
  'keep-alive-race': [
    'the service closes idle connections under its clients',
    "KEEP_ALIVE_TIMEOUT_MS, to more than the client's",
  ],
  'rate-limit': ['something in front of the service limits the rate', 'that limit (answers 429)'],
  network: ['the time passes between client and service', 'the way: distance, proxies, lost segments'],
  'generator-cpu': ['the generator had too little CPU', 'a core of its own for the generator, or several machines'],
  'generator-connections': [
    "all of the generator's connections wait for answers",
    '--connections: so few clients cannot ask for more',
  ],
  'generator-nofile': ['the generator could open no more files', 'ulimit -Hn of the generator'],
  'generator-ports': ['the generator ran out of ports', 'net.ipv4.ip_local_port_range, or connections that are kept'],
  'machine-noise': ['something else used the core of the service', 'what else runs on this machine'],
  'none-reached': ['no limit was reached', 'the rate: offer more'],
}

/** What each resource is called in a sentence, and what to turn when it is the limit. */
export const RESOURCES = Object.fromEntries(Object.entries(WORDS).map(([name, [is, turn]]) => [name, { is, turn }]))
