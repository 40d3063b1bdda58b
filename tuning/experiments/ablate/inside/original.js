const API = new URL('../../../../api/', import.meta.url)

/** A module of the API, within its process. @param {string} file @returns {Promise<any>} */
export function original(file) {
  return import(new URL(file, API).href)
}
