/**
 * Mutation testing of the pure modules (`npm run test:mutation`): each test file is one test to Stryker, and a mutant
 * meets only those files that reach it.
 * @type {import('@stryker-mutator/api/core').PartialStrykerOptions}
 */
export default {
  mutate: [
    'load/capacity/{confidence,levels,of-records,rates,search}.js',
    'load/verdict/{judge,limit,ranks}.js',
    'load/verdict/detectors/*.js',
    'load/generators/drivers/{recorder,pacing}.js',
    'api/{admission,gate,insert}.js',
    'tuning/stats/{effects,design,matrix}.js',
    'tuning/experiments/ablate/budget.js',
    'tuning/experiments/balance/balancers.js',
  ],
  testRunner: 'tap',
  tap: {
    testFiles: [
      'test/unit/load/capacity/{isotonic,search,of-records}.test.js',
      'test/unit/load/verdict/{judge,limit,ranks,detectors}.test.js',
      'test/unit/load/generators/drivers/{recorder,pacing}.test.js',
      'test/unit/api/{admission,gate,insert,statements}.test.js',
      'test/unit/tuning/stats/{effects,design,matrix}.test.js',
      'test/unit/tuning/experiments/{ablate/costs,balance/{adaptive,digest}}.test.js',
    ],
    forceBail: true,
  },
  coverageAnalysis: 'perTest',
  concurrency: 2,
  thresholds: { high: 95, low: 90, break: 85 },
  reporters: ['clear-text', 'html', 'json'],
  clearTextReporter: { reportTests: false },
  incremental: true,
  incrementalFile: 'results/mutation/incremental.json',
  htmlReporter: { fileName: 'results/mutation/index.html' },
  jsonReporter: { fileName: 'results/mutation/mutation.json' },
  tempDirName: 'results/mutation/sandbox',
  // Stryker copies the rest, and would write into each copy.
  ignorePatterns: [
    '/*',
    '!/package.json',
    '!/api',
    '!/load',
    '!/sql',
    '!/tuning',
    '!/test',
    '/load/generators/drivers/vegeta/bin',
  ],
  allowConsoleColors: false,
  disableTypeChecks: false,
}
