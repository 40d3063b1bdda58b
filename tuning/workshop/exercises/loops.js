import { milliseconds } from '../../../load/report/format.js'
import { figure, guessed } from '../evidence.js'
import { choice, number } from '../exercise.js'
import { closed, FAR, goodput, offered, PATIENT, rounded } from '../loads.js'

/**
 * @import { Exercise } from '../exercise.js'
 * @import { TrialRecord } from '../../../load/report/record.js'
 */

const SERVICE = { ...FAR, ...PATIENT }
const OVER = 1.5
const FEW = 8

/** It is meant to queue: that it does not keep the promise is no news. */
const LOAD = { connections: 2000, duration_s: 4, countsAlways: true }

/** p99 by p99: up to here the two loops say the same, from there on a queue. */
const SAME = 1.25
const QUEUE = 2

/** The closed loop has seen the same if its p99 is within a factor of this. */
const WITHIN = 2

/** @type {Exercise} */
export const loops = {
  id: 'loops',
  title: 'One service, two answers',
  minutes: 6,
  needs: 'The knee: above it, latency tells how long the load lasted.',
  lesson: 'A closed loop asks less of a slow service, so it cannot see the queue that users stand in.',
  symptoms: [
    'The load test passed: no errors, a p99 that everybody likes. In production the same build, on the same machine, with the same data, keeps people waiting for seconds.',
    'The test has a few connections, each of which sends when its answer has come (a closed loop). People come when they come (an open loop): one half more than the test got done.',
  ],
  before: () => [closed('closed', SERVICE, FEW)],
  figures: ({ trials }) => ({
    rate: figure(trials.closed.traffic.goodput_rps),
    p99: milliseconds(trials.closed.traffic.latency_ms?.p99),
  }),
  predict: {
    text: `The closed loop of ${FEW} connections: {rate}/s, p99 {p99}. The same service now gets ${OVER} times that rate on a schedule, for four seconds. What will p99 be?`,
    kind: choice({
      same: 'about the same: it is the same service',
      half: 'about half as much again, as the rate',
      queue: 'many times as much, and more the longer it lasts',
    }),
    hints: [
      `Of three requests that come, the service gets two done. Where is the third?`,
      'After four seconds of that: how many wait, and how long does the service need for them?',
    ],
    solution: () => 'c',
    wrong: () => 'b',
  },
  first: (found) => [offered('open', SERVICE, rounded(OVER * goodput(found, 'closed')), LOAD)],
  rows: { closed: 'closed', open: 'open', 'closed, yours': 'again' },
  columns: ['offered', 'goodput/s', 'success', 'p50', 'p99', 'API core', 'waiting'],
  compare: ({ trials, answers }) => {
    const times = p99Of(trials.open) / p99Of(trials.closed)
    const happened = times <= SAME ? 'same' : times < QUEUE ? 'half' : 'queue'
    return {
      right: answers.predict === happened,
      text: `p99 of the open loop: ${figure(times)} x that of the closed one.`,
    }
  },
  turn: {
    text: 'Make the closed loop see what the open loop saw (a p99 within half and twice of it). The only knob: how many connections?',
    kind: number('connections', 1, 5000),
    hints: [
      'In a closed loop, those who wait are its connections: so many as it has, and no more.',
      "Little's law: in the system = rate x time. The rate is what the service gets done; the time is the p99 that you want to see.",
    ],
    solution: ({ trials }) => String(Math.round((trials.open.traffic.goodput_rps * p99Of(trials.open)) / 1000)),
    wrong: () => '16',
  },
  expect: {
    text: 'And how many a second will that many connections get done?',
    kind: number('requests/s', 1, 1_000_000),
    hints: ['More connections wait. Does the service work faster for it?'],
    solution: (found) => String(rounded(goodput(found, 'closed'))),
    wrong: (found) => String(rounded(10 * goodput(found, 'closed'))),
  },
  // The first round of so many is a burst that has to be over.
  again: ({ answers }) => [closed('again', SERVICE, answers.turn, { warmup_s: 3, duration_s: 5 })],
  compareExpected: (found) => {
    const [said, was] = [found.answers.expect, goodput(found, 'again')]
    return guessed(said, was, 4 / 3, `You said ${figure(said)}/s, it was ${figure(was)}/s.`)
  },
  outcome: ({ trials }) => {
    const times = p99Of(trials.again) / p99Of(trials.open)
    const text = `p99 ${milliseconds(p99Of(trials.again))}, the open loop's was ${milliseconds(p99Of(trials.open))}`
    return { solved: times >= 1 / WITHIN && times <= WITHIN, because: text }
  },
  discussion: [
    'Both tests were honest. The closed loop answers: how long do eight wait who are polite? The open loop: what becomes of people?',
    'With as many connections as there are people in the queue, the closed loop shows the same. But nobody knows that number before the open loop has told it.',
    'Many load generators are closed loops that look open (a rate for each worker, workers that wait). Ask where their latency starts to count: when the request was due, or when it left.',
  ],
}

/** @param {TrialRecord} trial */
function p99Of({ traffic }) {
  return traffic.latency_ms?.p99 ?? Number.NaN
}
