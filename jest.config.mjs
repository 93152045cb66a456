/**
 * One configuration for every project: unit tests are `*.spec.ts`, tests on real services `*.int.spec.ts`, and the
 * end-to-end tests over real HTTP are in apps/e2e.
 */

/** Relative to the checkout, because its own path may contain such a folder name. */
const never = ['<rootDir>/.*/(node_modules|dist)/', '<rootDir>/(tmp|node_modules)/'];

const base = {
  rootDir: import.meta.dirname,
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      { jsc: { target: 'es2024', parser: { syntax: 'typescript' } }, module: { type: 'es6' } },
    ],
  },
  modulePathIgnorePatterns: ['<rootDir>/.*/dist/', '<rootDir>/tmp/'],
  roots: ['apps', 'libs', 'tools'].map((folder) => `<rootDir>/${folder}`),
};

export default {
  // Guards against hangs only: a busy machine is not a failure. Jest reads it here, but not in a project.
  testTimeout: 30_000,
  testSequencer: `${import.meta.dirname}/tools/dev/src/checks/longest-first.mjs`,
  projects: [
    {
      ...base,
      displayName: 'unit',
      testMatch: ['**/*.spec.ts'],
      testPathIgnorePatterns: [...never, '\\.int\\.spec\\.ts$', '<rootDir>/apps/e2e/'],
    },
    {
      ...base,
      displayName: 'browser',
      // The browser builds of these libraries, with the same tests. Signatures use Node, because those of a browser are
      // asynchronous; the tests of the pages check them in a real browser.
      testMatch: ['**/libs/{json,envelope,merkle}/src/**/*.spec.ts', '**/tools/verify/src/check-*.spec.ts'],
      // The cost of hostile bodies matters only on servers.
      testPathIgnorePatterns: [...never, '\\.int\\.spec\\.ts$', 'nasty-bodies'],
      testEnvironmentOptions: { customExportConditions: ['browser'] },
      moduleNameMapper: {
        '^#ed25519$': '<rootDir>/libs/merkle/src/ed25519-node.ts',
        // The browser builds contain no signers, and the tests sign what they check.
        '^@sealgate/(envelope|merkle)$': '<rootDir>/libs/$1/src/index.ts',
      },
    },
    {
      ...base,
      displayName: 'integration',
      testMatch: ['**/*.int.spec.ts'],
      testPathIgnorePatterns: [...never, '<rootDir>/apps/e2e/'],
    },
    { ...base, displayName: 'e2e', testMatch: ['**/apps/e2e/**/*.spec.ts'], testPathIgnorePatterns: never },
  ],
};
