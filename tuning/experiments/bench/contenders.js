/**
 * What is compared: the API in its modes, other people's ways to write the same service, and two floors that store
 * nothing.
 *
 * @typedef {object} Contender
 * @property {string} name
 * @property {'ours' | 'peer' | 'floor'} kind
 * @property {string} about
 * @property {string} [file] under tuning/experiments/bench/peers/; none: the API
 * @property {string} [insertMode] of the API
 */

/** @type {Contender[]} */
export const CONTENDERS = [
  { name: 'no-op', kind: 'floor', file: 'no-op.js', about: 'node:http, body drained, a fixed 201: nothing is stored' },
  { name: 'json', kind: 'floor', file: 'json.js', about: 'node:http, body parsed as JSON: nothing is stored' },
  { name: 'batched', kind: 'ours', insertMode: 'batched', about: 'this API: requests share statements' },
  { name: 'pipelined', kind: 'ours', insertMode: 'pipelined', about: 'this API: pg clients in pipeline mode' },
  { name: 'prepared', kind: 'ours', insertMode: 'prepared', about: 'this API: a named statement per request' },
  { name: 'single', kind: 'ours', insertMode: 'single', about: 'this API: an unnamed statement per request' },
  { name: 'article', kind: 'peer', file: 'article.js', about: 'the article: raw node:http, pg, unnamed statements' },
  { name: 'postgres.js', kind: 'peer', file: 'postgres-js.js', about: 'raw node:http, postgres.js' },
  { name: 'fastify', kind: 'peer', file: 'fastify.js', about: 'Fastify, pg, prepared statements' },
  { name: 'hono', kind: 'peer', file: 'hono.js', about: 'Hono on @hono/node-server, pg, prepared statements' },
  { name: 'express', kind: 'peer', file: 'express.js', about: 'Express, pg, prepared statements' },
]
