import { Duplex } from 'node:stream'
import { LOGIN_FAULTS, STATEMENT_FAULTS } from './faults.js'
import { createTables } from './tables.js'
import {
  BOUND,
  errorResponse,
  noticeResponse,
  PARSED,
  READY,
  readMessages,
  resultOf,
  UNKNOWN_MECHANISM,
  WELCOME,
} from './wire.js'

/**
 * @import { Clock } from './clock.js'
 * @import { Fault, STORMS } from './faults.js'
 * @import { Result } from './tables.js'
 * @import { FrontendMessage, ServerError } from './wire.js'
 */

const ADMIN_SHUTDOWN = { severity: 'FATAL', code: '57P01' }
const STATEMENT_TIMEOUT = { severity: 'ERROR', code: '57014' }
const READ_ONLY = { severity: 'ERROR', code: '25006' }
const UNPREPARED = { severity: 'ERROR', code: '26000' }
const STALE_PLAN = { severity: 'ERROR', code: '0A000', routine: 'RevalidateCachedQuery' }
const PREPARED_TWICE = { severity: 'ERROR', code: '42P05' }

const NOTHING = Buffer.alloc(0)
const WARNING = noticeResponse({ severity: 'WARNING', code: '57P01' })

/** From the client to the server. */
const NETWORK_MS = 1

/** No message of Postgres begins like this. */
const GARBAGE = Buffer.from('<html>502 Bad Gateway</html>')

/** A DataRow that says it has 9 columns, and has none. */
const MALFORMED = Buffer.from([0x44, 0, 0, 0, 6, 0, 9])

/**
 * A Postgres in memory, which speaks its wire protocol over streams of its own and does what a plan says: how long each
 * statement takes, and what goes wrong.
 * @param {Clock} clock
 * @param {Plan} plan
 */
export function createPostgres(clock, plan) {
  const tables = createTables(() => clock.now_ms)
  /** @type {Session[]} */
  const sessions = []
  /** @type {Unit[]} */
  const units = []
  let isCalm = false
  let statements = 0
  let logins = 0
  const server = {
    clock,
    tables,
    units,
    sessions,

    /** pg's `stream`. */
    connect() {
      const session = new Session(server)
      sessions.push(session)
      return session.socket
    },

    /** Connections that the client has neither closed nor begun to close on a server that does not answer. */
    open: () =>
      sessions.filter(({ socket, isSilent }) => !socket.destroyed && !(isSilent && socket.writableEnded)).length,

    /** How much of the plan has been used. */
    counts: () => ({ statements, logins }),

    /** From now on, nothing goes wrong on its own; what has gone wrong stays so. */
    calm() {
      isCalm = true
    },

    /** @returns {Step} */
    nextStatement: () => (isCalm ? SMOOTH : (plan.statements[statements++] ?? SMOOTH)),
    /** @returns {Step} */
    nextLogin: () => (isCalm ? SMOOTH : (plan.logins[logins++] ?? SMOOTH)),

    /** @param {(typeof STORMS)[number]} kind */
    storm(kind) {
      for (const session of sessions) session.endure(kind)
    },
  }
  return server
}

/** @type {Step} */
const SMOOTH = { fault: 'none', execute_ms: 1, commit_ms: 1, split: 0 }

/** What the client takes for a socket. */
class Socket extends Duplex {
  /** @param {Session} session */
  constructor(session) {
    super({ allowHalfOpen: false })
    this.session = session
  }

  connect() {
    void this.session.login()
  }

  setNoDelay() {}
  setKeepAlive() {}
  ref() {}
  unref() {}
  _read() {}

  /** @param {Buffer} bytes @param {BufferEncoding} _encoding @param {(error?: Error) => void} done */
  _write(bytes, _encoding, done) {
    this.session.sent(bytes)
    done()
  }

  /** @param {() => void} done */
  _final(done) {
    this.session.finished()
    done()
  }

  /** @param {Error | null} error @param {(error: Error | null) => void} done */
  _destroy(error, done) {
    this.session.finished()
    done(error)
  }
}

/** What a client and a backend have between them. */
class Session {
  /** @param {Server} server */
  constructor(server) {
    this.server = server
    this.socket = new Socket(this)
    /** @type {Buffer} bytes of a message that is not complete */
    this.rest = Buffer.alloc(0)
    this.isStarting = true
    /** @type {FrontendMessage[]} messages before a Sync */
    this.messages = []
    /** @type {Unit[]} received, and not begun */
    this.queue = []
    /** @type {Unit[]} sent by the client, and not answered */
    this.unanswered = []
    /** @type {Map<string, string>} prepared statements */
    this.prepared = new Map()
    /** @type {Set<string>} those whose table was altered since */
    this.stale = new Set()
    this.statementTimeout_ms = Number.POSITIVE_INFINITY
    this.isLoggedIn = false
    this.isBusy = false
    this.isTerminated = false
    this.isSilent = false
    this.isReadOnly = false
    /** The backend has ended: it reads nothing more. */
    this.isOver = false
  }

  async login() {
    const step = this.server.nextLogin()
    const fault = LOGIN_FAULTS[step.fault] ?? {}
    await this.server.clock.sleep(step.execute_ms)
    if (this.socket.destroyed || fault.isLost) return
    if (fault.isRefused) return this.end('reset', 'ECONNREFUSED')
    this.loginFault = fault
    this.loginStep = step
    this.socket.emit('connect')
  }

  /** Called when the client has sent its startup message. */
  async welcome() {
    const { loginFault: fault = {}, loginStep: step = SMOOTH } = this
    await this.server.clock.sleep(step.commit_ms)
    if (this.isOver || this.isSilent) return
    const greeting = fault.isWelcome ? [WELCOME] : []
    if (fault.error) {
      // It reads no statement. Yet one may be on its way already, and the client takes the error for its answer.
      this.isBusy = true
      const isDelivered = await this.deliver(Buffer.concat([...greeting, errorResponse(fault.error)]), step.split)
      const [unit] = this.unanswered
      if (isDelivered && unit) this.decide(unit, { error: fault.error })
    } else if (fault.answer) await this.deliver(fault.answer === 'garbage' ? GARBAGE : UNKNOWN_MECHANISM, step.split)
    else if (!fault.end) {
      this.isLoggedIn = true
      await this.deliver(WELCOME, step.split)
    }
    if (fault.end) this.end(fault.end)
  }

  /** What the client writes counts as sent at once; the backend has it a little later. @param {Buffer} bytes */
  sent(bytes) {
    const { messages, rest } = readMessages(Buffer.concat([this.rest, bytes]), this.isStarting)
    this.rest = rest
    for (const message of messages) {
      if (message.type === 'startup') {
        this.isStarting = false
        this.statementTimeout_ms = message.statementTimeout_ms ?? Number.POSITIVE_INFINITY
        void this.welcome()
      } else if (message.type === 'X') {
        this.receive({ messages: [message], text: '', users: [] })
      } else {
        this.messages.push(message)
        if (message.type === 'S') this.receive(this.unitOf(this.messages.splice(0)))
      }
    }
  }

  /** @param {FrontendMessage[]} messages @returns {Unit} */
  unitOf(messages) {
    const parse = messages.find(({ type }) => type === 'P')
    const bind = messages.find(({ type }) => type === 'B')
    // What a name stands for, the client knows, whatever the backend will say of it.
    if (parse?.text !== undefined) this.texts.set(parse.name ?? '', parse.text)
    const text = this.texts.get(bind?.name ?? '') ?? ''
    const { users, key } = this.server.tables.begin(text, bind?.values ?? [])
    const unit = { messages, parse, bind, text, users, key }
    this.server.units.push(unit)
    this.unanswered.push(unit)
    return unit
  }

  /** @type {Map<string, string>} */
  texts = new Map()

  /** @param {Unit} unit */
  async receive(unit) {
    await this.server.clock.sleep(NETWORK_MS)
    this.queue.push(unit)
    void this.work()
  }

  /** One unit after the other, as a backend does. */
  async work() {
    if (this.isBusy) return
    this.isBusy = true
    for (let unit = this.queue.shift(); unit && !this.isOver; unit = this.queue.shift()) {
      if (unit.messages[0].type === 'X') this.end('close')
      else await this.execute(unit)
      if (this.isTerminated && !this.isOver) await this.terminate()
    }
    this.isBusy = false
  }

  /** @param {Unit} unit */
  async execute(unit) {
    const { clock, tables } = this.server
    const step = this.server.nextStatement()
    const fault = STATEMENT_FAULTS[step.fault]
    const refusal = this.refusalOf(unit, fault)
    const work = tables.begin(unit.text, unit.bind?.values ?? [])
    const isTimeout = !refusal && step.execute_ms > this.statementTimeout_ms
    const acknowledged = unit.parse ? [PARSED, BOUND] : [BOUND]
    await clock.sleep(isTimeout ? this.statementTimeout_ms : step.execute_ms)
    // From here on until the commit has ended, nothing interrupts it.
    if (this.isTerminated) return
    if (isTimeout) return this.refuse({ error: STATEMENT_TIMEOUT, before: acknowledged }, step)
    const commits = fault?.commits && (!refusal || refusal.error === fault.error)
    if (refusal && !commits) {
      await this.refuse(refusal, step)
    } else {
      await clock.sleep(step.commit_ms)
      const result = fault && !commits ? null : work.commit()
      unit.isStored = result !== null && !result.error
      if (refusal) await this.refuse(refusal, step)
      else if (fault?.answer) await this.answerPartly(fault, step)
      else if (result?.error) await this.refuse({ error: result.error, before: acknowledged }, step)
      else if (result) await this.answer(unit, acknowledged, result, step)
    }
    if (fault?.end) this.end(fault.end)
  }

  /**
   * What Postgres finds wrong before it stores anything, in the order of the messages.
   * @param {Unit} unit
   * @param {Fault | undefined} fault
   * @returns {{ error: ServerError, before: Buffer[] } | null} `before`: what it answers first
   */
  refusalOf({ parse, bind, text }, fault) {
    if (fault?.forgets) this.prepared.clear()
    if (fault?.stales) for (const name of this.prepared.keys()) this.stale.add(name)
    if (parse) {
      if (fault?.error && fault.at === 'parse') return { error: fault.error, before: [] }
      if (parse.name && this.prepared.has(parse.name)) return { error: PREPARED_TWICE, before: [] }
      this.prepared.set(parse.name ?? '', text)
      this.stale.delete(parse.name ?? '')
    }
    const before = parse ? [PARSED] : []
    if (fault?.error && fault.at === 'bind') return { error: fault.error, before }
    if (!this.prepared.has(bind?.name ?? '')) return { error: UNPREPARED, before }
    if (this.stale.has(bind?.name ?? '')) return { error: STALE_PLAN, before }
    before.push(BOUND)
    if (this.isReadOnly && /INSERT|DELETE/.test(text)) return { error: READ_ONLY, before }
    return fault?.error ? { error: fault.error, before } : null
  }

  /** @param {{ error: ServerError, before: Buffer[] }} refusal @param {Step} step */
  async refuse({ error, before }, { split }) {
    if (this.isSilent) return
    const [unit] = this.unanswered
    if (await this.deliver(Buffer.concat([...before, errorResponse(error)]), split)) this.decide(unit, { error })
    if (error.severity === 'ERROR') await this.deliver(READY, 0)
  }

  /** @param {Unit} unit @param {Buffer[]} before @param {Result} result @param {Step} step */
  async answer(unit, before, result, { split }) {
    if (result.error || this.isSilent) return
    if (await this.deliver(Buffer.concat([...before, resultOf(result), READY]), split)) this.decide(unit, { result })
  }

  /** @param {Fault} fault @param {Step} step */
  async answerPartly({ answer = 'none' }, { split }) {
    const bytes = {
      none: NOTHING,
      warning: WARNING,
      part: BOUND.subarray(0, 3),
      garbage: GARBAGE,
      malformed: MALFORMED,
    }
    if (!this.isSilent) await this.deliver(bytes[answer], split)
  }

  /**
   * Sends bytes, in two pieces where they are split.
   * @param {Buffer} bytes
   * @param {number} split 0: not at all
   * @returns {Promise<boolean>} whether the client was there for all of them
   */
  async deliver(bytes, split) {
    const at = split % bytes.length
    if (at > 0) {
      if (!this.socket.destroyed) this.push(bytes.subarray(0, at))
      await this.server.clock.sleep(split)
    }
    if (this.socket.destroyed || this.isSilent) return false
    this.push(bytes.subarray(at))
    return true
  }

  /** @param {Buffer} bytes */
  push(bytes) {
    try {
      // A copy, since pg's parser writes into what it is given.
      this.socket.push(Buffer.from(bytes))
    } catch (error) {
      this.server.clock.crashes.push(error)
    }
  }

  /** @param {Unit} unit @param {Decision} decision */
  decide(unit, decision) {
    unit.decision = decision
    this.unanswered.splice(this.unanswered.indexOf(unit), 1)
  }

  async terminate() {
    const [unit] = this.unanswered
    if ((await this.deliver(errorResponse(ADMIN_SHUTDOWN), 0)) && unit) this.decide(unit, { error: ADMIN_SHUTDOWN })
    this.end('close')
  }

  /** @param {(typeof STORMS)[number]} kind */
  endure(kind) {
    if (!this.isLoggedIn || this.isOver) return
    if (kind === 'demote') this.isReadOnly = true
    else if (kind === 'terminate') {
      this.isTerminated = true
      if (!this.isBusy) void this.terminate()
    } else if (kind === 'silence') this.isSilent = true
    else this.end(kind)
  }

  /** @param {'close' | 'reset' | 'silence'} how @param {string} [code] of the reset */
  end(how, code = 'ECONNRESET') {
    if (how === 'silence') {
      this.isSilent = true
      return
    }
    this.isOver = true
    this.queue = []
    if (this.socket.destroyed || this.isSilent) return
    if (how === 'close') this.socket.push(null)
    else this.socket.destroy(Object.assign(new Error(`read ${code}`), { code }))
  }

  /** The client has sent all that it will send. What the backend has been sent, it still works on. */
  finished() {
    if (this.isOver) return
    void this.server.clock.sleep(NETWORK_MS).then(() => {
      this.queue.push({ messages: [{ type: 'X' }], text: '', users: [] })
      void this.work()
    })
  }
}

/**
 * @typedef {ReturnType<typeof createPostgres>} Server
 * @typedef {object} Plan
 * @property {Step[]} logins in the order in which connections are opened
 * @property {Step[]} statements in the order in which the server begins them; any further one goes well
 * @typedef {object} Step what happens to one statement or login
 * @property {string} fault `none`, or a key of faults.js
 * @property {number} execute_ms until its commit begins; or, of a login, until the connection is there
 * @property {number} commit_ms
 * @property {number} split 0, or where its answer is split, and how many milliseconds later the rest arrives
 * @typedef {{ error: ServerError, result?: undefined } |
 *   { result: Result, error?: undefined }} Decision
 * @typedef {object} Unit what a client sends up to a Sync: one statement
 * @property {FrontendMessage[]} messages
 * @property {FrontendMessage} [parse]
 * @property {FrontendMessage} [bind]
 * @property {string} text SQL
 * @property {string[]} users
 * @property {string} [key]
 * @property {boolean} [isStored]
 * @property {Decision} [decision] what the client was told, once all of it has arrived
 */
