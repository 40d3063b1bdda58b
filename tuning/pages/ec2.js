import { readFileSync } from 'node:fs'
import { paragraph, table } from '../../load/report/blocks.js'
import { decimal } from '../../load/report/format.js'
import { HOURS_PER_MONTH } from '../experiments/ramp/cost.js'

/** The cost of an experiment on EC2: each price of tuning/ec2/prices.json with its source, then the sum and the prices' age. */
export function pricesBlocks() {
  const { list, exercise } = JSON.parse(readFileSync(new URL('../ec2/prices.json', import.meta.url), 'utf8'))
  const hourly = (/** @type {string} */ name) => {
    const { usd, per } = list.items[name]
    return usd / (per === 'GB-month' ? HOURS_PER_MONTH : 1)
  }
  const rows = Object.entries(list.items).map(([name, { usd, per, source }]) => {
    const used = exercise.items[name]
    const quantities = used ? [String(used), decimal(used * hourly(name), 4)] : ['', '']
    return [`\`${name}\``, `${usd} per ${per}`, ...quantities, list.sources[source]]
  })
  const sum = (/** @type {Record<string, number>} */ items) => {
    return Object.entries(items).reduce((usd, [name, used]) => usd + used * hourly(name), 0)
  }
  const { hours } = exercise
  const [machines, credits] = [sum(exercise.items), sum(exercise.credits)]
  return [
    table(['item', 'list price, USD', 'quantity that `up` uses', 'USD per hour', 'source'], rows, {
      align: ['l', 'r', 'r', 'r', 'l'],
    }),
    paragraph(
      `**${decimal(machines, 3)} USD per hour**, or ${decimal(machines * hours, 2)} USD for ${hours} hours, enough for \`up\`, each \`measure\` on this page and \`down\`. CPU credits ([below](#cpu-credits)) cost at most ${decimal(credits * hours, 2)} USD more: that much if \`t2.micro\` and \`db.t3.micro\` are busy for all ${hours} hours; a tenth of each vCPU's time is free.`,
    ),
    paragraph(
      `Prices for ${list.region}, looked up on ${list.looked_up}. *Copies of the price list* are public tables that quote AWS's prices. We did not check AWS's own pages, which show the current prices: ${list.pages.map((/** @type {string} */ url) => `<${url}>`).join(', ')}.`,
    ),
  ]
}
