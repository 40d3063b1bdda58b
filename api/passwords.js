import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'

/** One of OWASP's equally strong scrypt settings: 16 MiB of memory, five passes. */
const COST = { N: 2 ** 14, r: 8, p: 5, maxmem: 64 * 1024 * 1024 }
const SCRYPT_PREFIX = '$scrypt$ln=14,r=8,p=5$'
const SALT_BYTES = 16
const HASH_BYTES = 32

const derive = promisify(/** @type {typeof scrypt} */ (scrypt))

/**
 * Converts a password to its stored form; `scrypt` yields a PHC string with a random salt.
 * @typedef {(password: string) => string | Promise<string>} StorePassword
 * @type {Record<'plain' | 'scrypt', StorePassword>}
 */
export const passwordStorage = {
  plain: (password) => password,
  scrypt: async (password) => {
    const salt = randomBytes(SALT_BYTES)
    return `${SCRYPT_PREFIX}${unpadded(salt)}$${unpadded(await scryptHash(password, salt))}`
  },
}

/**
 * Checks a password against its stored form.
 * @param {string} password @param {string} stored plain or scrypt, since the setting may have changed
 * @param {boolean} isPlain whether passwords are stored as they are now: one may then look like a hash
 */
export async function isStoredAs(password, stored, isPlain) {
  if (isPlain && stored === password) return true
  if (!stored.startsWith(SCRYPT_PREFIX)) return stored === password
  const parts = stored.slice(SCRYPT_PREFIX.length).split('$')
  const [salt, hash] = parts.map((text) => Buffer.from(text, 'base64'))
  return hash?.length === HASH_BYTES && timingSafeEqual(hash, await scryptHash(password, salt))
}

/** @param {string} password @param {Buffer} salt @returns {Promise<Buffer>} */
function scryptHash(password, salt) {
  return /** @type {any} */ (derive)(password, salt, HASH_BYTES, COST)
}

/** Base64 without padding, as in PHC strings. @param {Buffer} bytes */
const unpadded = (bytes) => bytes.toString('base64').replace(/=+$/, '')
