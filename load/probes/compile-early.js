import v8 from 'node:v8'

/**
 * Preloaded into Node programs whose CPU per request is compared: V8 optimizes a function after an eighth of the usual calls. It compiles
 * in threads of its own, and not in all processes at the same moment, so an earlier comparison would be one of how far each has got.
 */
const [major] = process.versions.node.split('.')
// By default 67,584 and 3,000; up to Node 21, V8 counts bytes of what it executes, and later versions count calls.
v8.setFlagsFromString(Number(major) < 22 ? '--interrupt-budget=8000' : '--invocation-count-for-turbofan=400')
