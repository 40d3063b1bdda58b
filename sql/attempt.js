import fs from 'node:fs'

/** Text of a file; null: it cannot be read. @param {string} file */
export const textOf = (file) => attempt(() => fs.readFileSync(file, 'utf8'), null)

/** @template T, U @param {() => T} read @param {U} otherwise if it throws */
export function attempt(read, otherwise) {
  try {
    return read()
  } catch {
    return otherwise
  }
}
