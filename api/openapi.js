import { PROBLEMS } from './errors.js'
import { KEY_PATTERN } from './idempotency.js'
import { EMAIL_PATTERN, MAX_FIELD_CHARACTERS, PASSWORD_PATTERN } from './users.js'

/** Generates the API's description (OpenAPI 3.1) from the tables that the code uses. @param {{ bodyLimitBytes: number }} limits */
export function openapi({ bodyLimitBytes }) {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Redline',
      version: '1',
      description: `A reference API: one durable row per request. Bodies hold at most ${bodyLimitBytes} bytes.`,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    paths: {
      '/user': { post: createUser },
      '/user/{id}': { get: findUser },
      '/openapi.json': { get: describe },
    },
    components: { schemas: { User: userSchema, Problem: problemSchema } },
  }
}

const text = { type: 'string', minLength: 1, maxLength: MAX_FIELD_CHARACTERS, description: 'Without lone surrogates.' }

/** The format implies the maximum; if we stated it as a number, JavaScript's JSON.parse would round it. */
const idDescription = 'Parsers that read numbers as doubles are exact up to 2^53; Location is always exact.'
const idSchema = { type: 'integer', format: 'int64', minimum: 1, description: idDescription }

const userSchema = {
  type: 'object',
  required: ['email', 'password'],
  properties: { email: { ...text, pattern: EMAIL_PATTERN }, password: { ...text, pattern: PASSWORD_PATTERN } },
}

const problemSchema = {
  type: 'object',
  description: 'RFC 9457. Branch on code, which is stable.',
  required: ['type', 'title', 'status', 'code'],
  properties: {
    type: { type: 'string', format: 'uri' },
    title: { type: 'string' },
    status: { type: 'integer' },
    code: { type: 'string', enum: Object.keys(PROBLEMS) },
    detail: { type: 'string' },
  },
}

const idempotencyKey = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    'Makes a retry safe: requests with the same key and the same user store one row, and each is answered 201 with ' +
    'its Location. Concurrent ones wait for the first. Use a new UUID for each user.',
  schema: { type: 'string', pattern: KEY_PATTERN },
}

const createUser = {
  operationId: 'createUser',
  summary: 'Store a user. 201 means that the row is committed.',
  parameters: [idempotencyKey],
  requestBody: { required: true, content: json({ $ref: '#/components/schemas/User' }) },
  responses: {
    201: {
      description: 'The row is committed',
      headers: { Location: { schema: { type: 'string', pattern: '^/user/[1-9][0-9]*$' } } },
      content: json({ type: 'object', required: ['message'], properties: { message: { const: 'User created' } } }),
    },
    ...problems(400, 408, 409, 413, 415, 417, 422, 431, 500, 501, 503, 504),
  },
}

const findUser = {
  operationId: 'findUser',
  summary: 'Tell whether a user exists. The address is not given away.',
  parameters: [{ name: 'id', in: 'path', required: true, schema: idSchema }],
  responses: {
    200: {
      description: 'The user exists',
      content: json({ type: 'object', required: ['id'], properties: { id: idSchema } }),
    },
    ...problems(400, 404, 408, 417, 431, 500, 503),
  },
}

const describe = {
  operationId: 'describe',
  summary: 'This description.',
  responses: {
    200: { description: 'OpenAPI 3.1', content: json({ type: 'object' }) },
    ...problems(400, 408, 417, 431, 500, 503),
  },
}

/** @param {object} schema */
function json(schema) {
  return { 'application/json': { schema } }
}

/** One response per status, listing its problem codes. @param {number[]} statuses */
function problems(...statuses) {
  const content = { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } }
  const retryAfter = { 'Retry-After': { schema: { type: 'integer' }, description: 'Seconds' } }
  const responses = statuses.map((status) => {
    const codes = Object.entries(PROBLEMS).filter(([, problem]) => problem.status === status)
    const description = codes.map(([code, { title }]) => `${code}: ${title}.`).join(' ')
    return [status, { description, content, ...(status === 503 && { headers: retryAfter }) }]
  })
  return Object.fromEntries(responses)
}
