/**
 * @param {() => unknown} work
 * @returns {any} what it throws
 */
export function caught(work) {
  try {
    work()
  } catch (error) {
    return error
  }
  throw new Error('expected it to throw')
}
