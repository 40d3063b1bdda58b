const API = new URL('../../../../api/', import.meta.url).href

/** Modules that our hooks replace, by the API module that imports them; the hooks import the originals. */
const REPLACED = /** @type {Record<string, Record<string, string>>} */ ({
  [`${API}service.js`]: { './app.js': 'app.js', './users.js': 'app.js' },
  [`${API}app.js`]: { './http.js': 'http.js' },
  [`${API}routes.js`]: { './http.js': 'http.js' },
})

/** Hooks Node's module loader. @param {string} specifier @param {{ parentURL?: string }} context @param {(...args: any[]) => any} next */
export function resolve(specifier, context, next) {
  const file = REPLACED[context.parentURL ?? '']?.[specifier]
  return file ? { url: new URL(file, import.meta.url).href, shortCircuit: true } : next(specifier, context)
}

/** Imports the API's own module. @param {string} file @returns {Promise<any>} */
export function original(file) {
  return import(new URL(file, API).href)
}
