import { keptUrl } from './credentials.js'
import { hasReference, REFERENCES, resolveUrl } from './references.js'

/** @import { UsageError } from './errors.js' */

/** What flags that take the URL of a service have in common. */
export const URL_FLAG = {
  shown: keptUrl,
  expected: `an http:// or https:// URL without user and password (give --header "Authorization: …"), or ${REFERENCES}`,
}

/**
 * @param {string} flag for messages, without dashes
 * @param {string} text
 * @returns {string | undefined} as the URL standard writes it, or as it is where it refers to a secret
 * @throws {UsageError} if a secret that it refers to is missing
 */
export function httpUrl(flag, text) {
  const href = canonical(resolveUrl(flag, text))
  return href !== undefined && hasReference(text) ? text : href
}

/** @param {string} text */
function canonical(text) {
  if (!URL.canParse(text)) return undefined
  const { protocol, username, password, href } = new URL(text)
  return /^https?:$/.test(protocol) && !username && !password ? href : undefined
}
