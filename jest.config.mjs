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
      displayName: 'integration',
      testMatch: ['**/*.int.spec.ts'],
      testPathIgnorePatterns: [...never, '<rootDir>/apps/e2e/'],
    },
    { ...base, displayName: 'e2e', testMatch: ['**/apps/e2e/**/*.spec.ts'], testPathIgnorePatterns: never },
  ],
};
