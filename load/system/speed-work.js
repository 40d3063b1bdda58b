/**
 * A fixed piece of work of the kind that a service in Node does: JSON of some megabytes is read, kept in objects and written. Prints the
 * milliseconds of CPU time that it took, the median of several times.
 */

const ROWS = 8000
/** The first ones are compiled. */
const COLD_TIMES = 2
const TIMES = 5

const text = JSON.stringify(
  Array.from({ length: ROWS }, (_, id) => ({ id, name: `name ${id}`, email: `${id}@example.com` })),
)

function work() {
  const byEmail = new Map(JSON.parse(text).map((/** @type {{ email: string }} */ row) => [row.email, row]))
  return JSON.stringify([...byEmail.values()]).length
}

const times_ms = Array.from({ length: COLD_TIMES + TIMES }, () => {
  const start_us = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(start_us)
  return (user + system) / 1000
})
const sorted = times_ms.slice(COLD_TIMES).sort((a, b) => a - b)
process.stdout.write(String(sorted[Math.floor(TIMES / 2)]))
