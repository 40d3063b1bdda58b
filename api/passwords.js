import { randomBytes, scrypt } from 'node:crypto'
import { promisify } from 'node:util'

/** One of OWASP's settings of equal strength for scrypt: 16 MiB of memory, five passes. */
const LOG2_COST = 14
const BLOCK_SIZE = 8
const PARALLELISM = 5
const SALT_BYTES = 16
const HASH_BYTES = 32

const derive = promisify(/** @type {typeof scrypt} */ (scrypt))

/**
 * How a password is stored. `plain` is the published benchmark's workload and nothing else; `scrypt` gives a string in
 * the PHC format, with a salt of its own.
 *
 * @type {Record<'plain' | 'scrypt', (password: string) => string | Promise<string>>}
 */
export const passwordStorage = {
  plain: (password) => password,

  scrypt: async (password) => {
    const salt = randomBytes(SALT_BYTES)
    const options = { N: 2 ** LOG2_COST, r: BLOCK_SIZE, p: PARALLELISM, maxmem: 64 * 1024 * 1024 }
    const hash = /** @type {Buffer} */ (await /** @type {any} */ (derive)(password, salt, HASH_BYTES, options))
    return `$scrypt$ln=${LOG2_COST},r=${BLOCK_SIZE},p=${PARALLELISM}$${unpadded(salt)}$${unpadded(hash)}`
  },
}

/** Base64 as PHC strings have it. @param {Buffer} bytes */
function unpadded(bytes) {
  return bytes.toString('base64').replace(/=+$/, '')
}
