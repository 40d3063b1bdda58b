import xterm from '@xterm/headless'

/** @typedef {{ at_s: number, lines: string[] }} Frame what a terminal shows from this time on */

const LINE = /^([\d.]+) (\d+)$/

/** Parses the log of `script --log-timing`: delays in s, and numbers of bytes. @param {string} timing @param {Buffer} output @returns {{ at_s: number, bytes: Buffer }[]} */
export function chunksOf(timing, output) {
  let [at_s, from] = [0, 0]
  return timing
    .trim()
    .split('\n')
    .flatMap((line) => {
      const [, delay_s, length] = LINE.exec(line) ?? []
      if (length === undefined) return []
      at_s += Number(delay_s)
      const bytes = output.subarray(from, from + Number(length))
      from += Number(length)
      return [{ at_s, bytes }]
    })
}

/**
 * The screens of a terminal, each from the time at which it appeared, at most one per `step_s`; the last one is scrolled back to the last
 * line that matches `answer`.
 * @param {{ at_s: number, bytes: Buffer }[]} chunks @param {{ columns: number, rows: number, step_s: number, answer?: RegExp }} size
 * @returns {Promise<Frame[]>}
 */
export async function framesOf(chunks, { columns, rows, step_s, answer }) {
  const terminal = new xterm.Terminal({ cols: columns, rows, allowProposedApi: true, convertEol: false })
  const lineAt = (/** @type {number} */ row) => terminal.buffer.active.getLine(row)?.translateToString(true) ?? ''
  const linesFrom = (/** @type {number} */ first) => Array.from({ length: rows }, (_, i) => lineAt(first + i))
  /** @type {Frame[]} */
  const frames = []
  for (const [i, { at_s, bytes }] of chunks.entries()) {
    await new Promise((resolve) => terminal.write(bytes, () => resolve(undefined)))
    const next_s = chunks[i + 1]?.at_s ?? Number.POSITIVE_INFINITY
    // Output that is replaced at once is not worth a frame.
    if (Math.floor(next_s / step_s) === Math.floor(at_s / step_s)) continue
    const lines = linesFrom(terminal.buffer.active.viewportY)
    if (frames.at(-1)?.lines.join('\n') !== lines.join('\n')) frames.push({ at_s, lines })
  }
  const all = Array.from({ length: terminal.buffer.active.length }, (_, row) => row)
  const first = answer ? all.findLast((row) => answer.test(lineAt(row))) : undefined
  return first === undefined
    ? frames
    : [...frames.slice(0, -1), { ...frames[frames.length - 1], lines: linesFrom(first) }]
}

/** Cuts pauses of frames to `most_s`, and fits all into `whole_s`, with `last_s` for the last. @param {Frame[]} frames @param {{ most_s: number, whole_s: number, last_s: number }} times @returns {Frame[]} */
export function paced(frames, { most_s, whole_s, last_s }) {
  let sum_s = 0
  const cut = frames.map((frame, i) => {
    if (i > 0) sum_s += Math.min(most_s, frame.at_s - frames[i - 1].at_s)
    return { ...frame, at_s: sum_s }
  })
  const factor = sum_s > 0 ? (whole_s - last_s) / sum_s : 1
  return cut.map(({ at_s, lines }) => ({ at_s: at_s * Math.min(1, factor), lines }))
}
