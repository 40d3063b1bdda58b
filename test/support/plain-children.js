import processOnSpawn from 'process-on-spawn'

/** What tests start runs as its users run it: without the file that tap has every Node process import, and its 0.1 s each. */
processOnSpawn.removeAllListeners()
processOnSpawn.addListener((child) => {
  const { NODE_OPTIONS = '', ...env } = child.env
  const own = NODE_OPTIONS.replace(/"?--import=[^"\s]*@tapjs\/processinfo[^"\s]*"?/, '').trim()
  child.env = own === '' ? env : { ...env, NODE_OPTIONS: own }
})

if (/[\\/]test[\\/](unit|bundles)[\\/]/.test(process.argv[1])) await import('./unit-tier.js')
