import xterm from '@xterm/headless'

/** A terminal without a window. @param {{ columns: number, rows: number }} size */
export function createScreen({ columns, rows }) {
  const terminal = new xterm.Terminal({ cols: columns, rows, allowProposedApi: true })
  return {
    /** @param {string | Buffer} output of a program */
    write: (output) => new Promise((resolve) => terminal.write(output, () => resolve(undefined))),

    /** What it shows; scrolled back, if possible, to the last line that matches. @param {RegExp} [first] @returns {string[]} */
    lines(first) {
      const { active } = terminal.buffer
      const all = Array.from({ length: active.length }, (_, row) =>
        String(active.getLine(row)?.translateToString(true)),
      )
      const found = first ? all.findLastIndex((line) => first.test(line)) : -1
      const top = found === -1 ? active.viewportY : found
      return Array.from({ length: rows }, (_, i) => all[top + i] ?? '')
    },
  }
}
