import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { coresOf } from '../../../load/system/machine.js'
import { startChild } from '../../../load/system/processes.js'
import { openApi } from '../../../load/targets/index.js'
import { relaxed } from '../../../load/verdict/relax.js'
import { FAULTS, notchOf } from './index.js'

/** @import { Experiment } from '../../../load/run/experiment.js' */

const PROXY = fileURLToPath(new URL('proxy.js', import.meta.url))
const STOP_GRACE_MS = 500

/** The API with the fault of a cell around it. @type {NonNullable<Experiment['open']>} */
export async function openFaulty(cell, place) {
  const { settings, nodeFlags: own = [], preload, nofile = null, proxy, plant } = FAULTS[String(cell?.fault)]
  const nodeFlags = preload ? [...own, `--import=${new URL(`preload.js?${preload}`, import.meta.url)}`] : own
  const target = await openApi(
    relaxed({ ...place, env: { ...place.env, ...settings }, nodeFlags, nofile }, notchOf(cell)),
  )
  const before = await startProxy(proxy, target.url).catch(async (error) => {
    await target.stop()
    throw error
  })
  const api = { pid: Number(target.pid), cores: target.cores }
  return {
    ...target,
    url: before.url,
    stop: async () => {
      await before.stop()
      await target.stop()
    },
    disturb:
      plant && (({ pid }) => plant({ databaseUrl: place.databaseUrl, api, generator: { pid, cores: coresOf(pid) } })),
  }
}

/**
 * A proxy in front of the API, as a process of its own on this machine.
 * @param {string | undefined} kind in proxy.js; undefined: there is none @param {string} url of the API
 */
async function startProxy(kind, url) {
  if (!kind) return { url, stop: async () => {} }
  const command = [process.execPath, PROXY, kind, url]
  const { child, exited, stop } = startChild(command, { cores: null, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  const ended = exited.then(({ code, signal }) => {
    throw new Error(`the proxy ${kind} ended before it listened (${signal ?? `code ${code}`})`)
  })
  ended.catch(() => {})
  const [{ url: ownUrl }] = await Promise.race([once(child, 'message'), ended])
  return { url: ownUrl, stop: () => stop(STOP_GRACE_MS) }
}
