import t from 'tap'
import { check } from '../../../../support/made-up/detected.js'

t.test('connections that the kernel turns away, and time that passes on the way', async (t) => {
  const text = (/** @type {string} */ backlog) =>
    `the kernel turned 5 connections away from a full accept queue${backlog}; up to 128 were seen waiting in it`
  const kernel = { listen_overflows: 3, listen_drops: 5, accept_queue_max: 128 }
  check(t, 'accept-queue', [
    [
      'with a known backlog',
      { settings: { LISTEN_BACKLOG: '128' }, probes: { kernel } },
      5,
      [text(' (LISTEN_BACKLOG=128)')],
    ],
    [
      'that the kernel cuts',
      { settings: { LISTEN_BACKLOG: 511 }, probes: { kernel: { ...kernel, somaxconn: 128 } } },
      5,
      [text(' (LISTEN_BACKLOG=511, of which net.core.somaxconn allows 128)')],
    ],
    [
      'that the kernel does not cut',
      { settings: { LISTEN_BACKLOG: 128 }, probes: { kernel: { ...kernel, somaxconn: 128 } } },
      5,
      [text(' (LISTEN_BACKLOG=128)')],
    ],
    ['with an unknown one', { probes: { kernel: { ...kernel, listen_overflows: 5, listen_drops: 3 } } }, 5, [text('')]],
    ['none', { probes: { kernel: { accept_queue_max: 128 } } }, 0, []],
    [
      'whose queue nobody looked at',
      { probes: { kernel: { listen_drops: 5 } } },
      5,
      ['the kernel turned 5 connections away from a full accept queue'],
    ],
    [
      'by another service, as every answer of this one came at once',
      { traffic: { latency_ms: { max: 199 } }, probes: { kernel } },
      0,
      [],
    ],
    ['with an answer that came late', { traffic: { latency_ms: { max: 200 } }, probes: { kernel } }, 5, [text('')]],
    [
      'with a connection that was reset',
      { traffic: { latency_ms: { max: 9 }, errors: { 'server:reset': 1 } }, probes: { kernel } },
      5,
      [text('')],
    ],
  ])
  const segments = '3 of 1,000 segments were sent again'
  const probes = { api: { in_flight_mean: 5, elu_ratio: 0.89 }, kernel: { retransmits: 3, segments_sent: 1000 } }
  const traffic = { ok_latency_ms: { mean: 60 }, latency_ms: { mean: 500 }, queued_ms: { mean: 10 } }
  const passed = (/** @type {string} */ all) =>
    `of ${all} ms from sending to answer, on average, 10.0 ms passed in the service`
  check(t, 'network', [
    ['four fifths of the time', { traffic, probes }, 1.6, [passed('50.0'), segments]],
    ['half of a short time', { traffic: { ok_latency_ms: { mean: 20 } }, probes }, 0.5, [passed('20.0'), segments]],
    [
      'of all requests, where none succeeded',
      { traffic: { ...traffic, ok_latency_ms: null, latency_ms: { mean: 20 }, queued_ms: null }, probes },
      0.5,
      [passed('20.0'), segments],
    ],
    ['all of it in the service', { traffic: { ok_latency_ms: { mean: 9 } }, probes }, 0, [passed('9.00'), segments]],
    [
      'packets that were dropped',
      { traffic, probes: { ...probes, kernel: { ...probes.kernel, tracking_drops: 7 } } },
      1.6,
      [passed('50.0'), segments, 'connection tracking dropped 7 packets: its table was full (nf_conntrack_max)'],
    ],
    [
      'without counters of the kernel',
      { traffic, probes: { api: { in_flight_mean: 5 }, kernel: {} } },
      1.6,
      [passed('50.0'), '0 of 0 segments were sent again'],
    ],
    ['a full event loop', { traffic, probes: { ...probes, api: { in_flight_mean: 5, elu_ratio: 0.9 } } }, 0, []],
    ['requests in the service that are not counted', { traffic, probes: { ...probes, api: {} } }, 0, []],
    ['no answer', { traffic: { ...traffic, achieved_rps: 0 }, probes }, 0, []],
    ['no latency', { traffic: { ok_latency_ms: null, latency_ms: null }, probes }, 0, []],
  ])
})
