/**
 * One configuration for every project: unit tests are `*.spec.ts`, tests on real services `*.int.spec.ts`, and the
 * stories over real HTTP lie in apps/e2e.
 */

/** Seen from the checkout: it may itself lie below a folder of such a name. */
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
  // Against a hang, not for speed: a busy machine is not a failure. Jest reads it here alone, not in a project.
  testTimeout: 30_000,
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
      // What browsers take of these libraries, judged by the same tests; signatures by Node, because those of a browser
      // come later than the tests ask. The pages' own tests have them judged by a real browser.
      testMatch: ['**/libs/{json,envelope,merkle}/src/**/*.spec.ts', '**/tools/verify/src/check-*.spec.ts'],
      // What hostile bodies cost is a matter of servers.
      testPathIgnorePatterns: [...never, '\\.int\\.spec\\.ts$', 'nasty-bodies'],
      testEnvironmentOptions: { customExportConditions: ['browser'] },
      moduleNameMapper: {
        '^#ed25519$': '<rootDir>/libs/merkle/src/ed25519-node.ts',
        // Browsers get no signers, and the tests sign what they check.
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
