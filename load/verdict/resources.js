/**
 * What each resource is called in a sentence, and what to turn when it is the limit.
 *
 * @type {Record<string, { is: string, turn: string }>}
 */
export const RESOURCES = {
  'api-cpu': {
    is: 'the core of the service is full',
    turn: 'less work per request, or a second process on a core of its own',
  },
  'api-blocked': {
    is: 'synchronous work blocks the event loop',
    turn: 'that work, to a worker thread or out of the request',
  },
  'api-threadpool': {
    is: "libuv's threads are all busy",
    turn: 'more cores for the service (and UV_THREADPOOL_SIZE), or a cheaper hash',
  },
  'api-quota': {
    is: "the service's control group has used up its CPU quota",
    turn: 'the quota (cpu.max, `docker run --cpus`, a CPU limit of Kubernetes), or less work per request',
  },
  'api-gc': {
    is: 'garbage collection takes the time of the service',
    turn: '--max-old-space-size, --max-semi-space-size, or what is kept',
  },
  'pool-size': {
    is: 'the connections of the pool are all in use',
    turn: 'POOL_MAX: above the rate that is wanted x the time that a statement holds a connection',
  },
  'pool-timeout': {
    is: 'requests give up waiting for a database connection',
    turn: 'POOL_CONNECT_TIMEOUT_MS, or POOL_MAX',
  },
  'postgres-cpu': {
    is: 'the cores of Postgres are full',
    turn: 'a core of its own for Postgres, or less work per row',
  },
  'postgres-commit': {
    is: 'commits wait for the write-ahead log',
    turn: 'rows per commit (INSERT_MODE=batched), or a faster disk',
  },
  'postgres-lock': { is: 'statements wait for a lock', turn: 'who holds it: pg_locks tells' },
  'postgres-connections': {
    is: 'Postgres takes no more connections',
    turn: 'max_connections, POOL_MAX, or who else is connected',
  },
  nofile: { is: 'the service may open no more files', turn: 'its hard limit of open files (ulimit -Hn, LimitNOFILE=)' },
  'max-connections': { is: 'the service takes no more connections', turn: 'MAX_CONNECTIONS' },
  'accept-queue': {
    is: 'new connections do not fit into the accept queue',
    turn: 'LISTEN_BACKLOG and net.core.somaxconn, or keep connections open',
  },
  'keep-alive-race': {
    is: 'the service closes idle connections under its clients',
    turn: "KEEP_ALIVE_TIMEOUT_MS, to more than the client's",
  },
  'rate-limit': { is: 'something in front of the service limits the rate', turn: 'that limit (answers 429)' },
  network: { is: 'the time passes between client and service', turn: 'the way: distance, proxies, lost segments' },
  'generator-cpu': {
    is: 'the generator had too little CPU',
    turn: 'a core of its own for the generator, or several machines',
  },
  'generator-connections': {
    is: "all of the generator's connections wait for answers",
    turn: '--connections: so few clients cannot ask for more',
  },
  'generator-nofile': { is: 'the generator could open no more files', turn: 'ulimit -Hn of the generator' },
  'generator-ports': {
    is: 'the generator ran out of ports',
    turn: 'net.ipv4.ip_local_port_range, or connections that are kept',
  },
  'machine-noise': { is: 'something else used the core of the service', turn: 'what else runs on this machine' },
  'none-reached': { is: 'no limit was reached', turn: 'the rate: offer more' },
}
