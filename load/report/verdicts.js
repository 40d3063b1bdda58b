/** How trials are drawn, by their outcome. @type {Record<string, { name: string, style: number }>} */
export const VERDICTS = {
  pass: { name: 'passed', style: 0 },
  fail: { name: 'failed', style: 1 },
  invalid: { name: 'invalid', style: 3 },
}
