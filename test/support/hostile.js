/** @import { Socket } from 'node:net' */

/**
 * Responses to test clients with. Each is a function of its status line, so that a client that takes a malformed response
 * for a good one can be told which it was.
 * @typedef {(line: string) => string} Response
 * @typedef {(line: string) => { first: string, again: string }} Endless `again` is repeated for as long as anybody reads
 */

const CHUNKED = 'Transfer-Encoding: chunked\r\n'

/** @param {string} value @returns {Response} */
const length = (value) => (line) => `${line}Content-Length:${value}\r\n\r\nabcde`

/** @param {string} body @returns {Response} */
const chunked = (body) => (line) => `${line}${CHUNKED}\r\n${body}`

/** @type {Record<string, Response>} */
export const MALFORMED = {
  'Content-Length: abc': length(' abc'),
  'Content-Length: -1': length(' -1'),
  'Content-Length: +5': length(' +5'),
  'Content-Length: 1e3': length(' 1e3'),
  'Content-Length: 0x5': length(' 0x5'),
  'Content-Length: 5 5': length(' 5 5'),
  'Content-Length: 5.0': length(' 5.0'),
  'Content-Length: empty': length(''),
  'Content-Length: 2^53': length(' 9007199254740992'),
  'Content-Length: 30 digits': length(` ${'9'.repeat(30)}`),
  'Content-Length: a list of two': length(' 5, 6'),
  'Content-Length: two different ones': length(' 5\r\nContent-Length: 6'),
  'Content-Length: a good one and a bad one': length(' 5\r\nContent-Length: abc'),
  'Content-Length: a space before the colon': (line) => `${line}Content-Length : 5\r\n\r\nabcde`,
  'Content-Length: folded': length(' 5\r\n 5'),
  'Content-Length and Transfer-Encoding': (line) => `${line}Content-Length: 5\r\n${CHUNKED}\r\n5\r\nabcde\r\n0\r\n\r\n`,
  'chunk size: -5': chunked('-5\r\nabcde\r\n0\r\n\r\n'),
  'chunk size: +5': chunked('+5\r\nabcde\r\n0\r\n\r\n'),
  'chunk size: 0x5': chunked('0x5\r\nabcde\r\n0\r\n\r\n'),
  'chunk size: 5 5': chunked('5 5\r\nabcde\r\n0\r\n\r\n'),
  'chunk size: zz': chunked('zz\r\nabcde\r\n0\r\n\r\n'),
  'chunk size: empty': chunked('\r\nabcde\r\n0\r\n\r\n'),
  'chunk size: an extension alone': chunked(';a=b\r\nabcde\r\n0\r\n\r\n'),
  'chunk size: 17 digits': chunked(`${'f'.repeat(17)}\r\nabcde\r\n0\r\n\r\n`),
  'chunk size: a space before it': chunked(' 5\r\nabcde\r\n0\r\n\r\n'),
  'chunk: no line end behind it': chunked('5\r\nabcde0\r\n\r\n'),
  'chunk: longer than its size': chunked('5\r\nabcdefg\r\n0\r\n\r\n'),
  'trailer: no name': chunked('5\r\nabcde\r\n0\r\nno colon here\r\n\r\n'),
  'header: no colon': (line) => `${line}Content-Length: 0\r\nno colon here\r\n\r\n`,
  'header: a NUL': (line) => `${line}Content-Length: 0\r\nA: \0\r\n\r\n`,
  'header: a CR alone': (line) => `${line}Content-Length: 0\r\nA: b\rc\r\n\r\n`,
  'status line: another protocol': (line) => `SSH-2.0-${line}\r\n`,
  'status line: a version to come': (line) => `${line.replace('1.1', '3.0')}Content-Length: 0\r\n\r\n`,
  'status line: two digits': (line) => `${line.replace(/ \d(\d\d)/, ' $1')}Content-Length: 0\r\n\r\n`,
  'status line: none': () => '{"id":1}\r\n\r\n',
  'extra bytes behind a response': (line) => `${line}Content-Length: 5\r\n\r\nabcdefg`,
  'a second response behind a response': (line) => `${line}Content-Length: 0\r\n\r\n${line}Content-Length: 0\r\n\r\n`,
  'a body where there is none': (line) => `${line.replace(/ \d{3}/, ' 204')}\r\nabcde`,
  'a switch of protocols': () => 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n',
}

/** @type {Record<string, Endless>} */
export const ENDLESS = {
  '1xx responses': () => ({ first: '', again: 'HTTP/1.1 103 Early Hints\r\n\r\n' }),
  'status line': (line) => ({ first: line.trim(), again: 'x'.repeat(1000) }),
  'header line': (line) => ({ first: `${line}A: `, again: 'x'.repeat(1000) }),
  headers: (line) => ({ first: line, again: 'A: b\r\n'.repeat(100) }),
  'chunk extension': (line) => ({ first: `${line}${CHUNKED}\r\n5;a=`, again: 'x'.repeat(1000) }),
  'digits of a chunk size': (line) => ({ first: `${line}${CHUNKED}\r\n`, again: '0'.repeat(1000) }),
  'trailer line': (line) => ({ first: `${line}${CHUNKED}\r\n0\r\nA: `, again: 'x'.repeat(1000) }),
  trailers: (line) => ({ first: `${line}${CHUNKED}\r\n0\r\n`, again: 'A: b\r\n'.repeat(100) }),
}

/** Sends an endless response for as long as anybody reads. @param {Socket} socket @param {ReturnType<Endless>} response */
export function sendEndless(socket, { first, again }) {
  socket.write(first, 'latin1')
  // Each write is a system call for as long as the kernel takes it.
  const bytes = Buffer.from(again.repeat(50), 'latin1')
  const more = () => {
    while (!socket.destroyed && socket.write(bytes));
  }
  socket.on('drain', more)
  more()
}

/** @type {Record<string, Response>} */
export const VALID = {
  'Content-Length': length(' 5'),
  'Content-Length: leading zeros': length(' 005'),
  'Content-Length: spaces around it': length(' \t5 \t'),
  chunked: chunked('5\r\nabcde\r\n0\r\n\r\n'),
  'chunked: upper case, leading zeros, an extension, a trailer': chunked(
    '00A;a="b;c"\r\nabcdefghij\r\n1\r\nx\r\n0\r\nA: b\r\n\r\n',
  ),
  'no reason': (line) => `${line.replace(' Row', '')}Content-Length: 0\r\n\r\n`,
  'an empty header': (line) => `${line}A:\r\nContent-Length: 0\r\n\r\n`,
  'two interim responses': (line) =>
    `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n${line}Content-Length: 0\r\n\r\n`,
}
