/**
 * One configuration for every project: unit tests are `*.spec.ts`, tests on real services `*.int.spec.ts`, and the
 * end-to-end tests over real HTTP are in apps/e2e. What takes minutes is `*.slow.spec.ts`.
 */

/** Relative to the checkout, because its own path may contain such a folder name. */
const never = ['<rootDir>/.*/(node_modules|dist)/', '<rootDir>/(tmp|node_modules)/'];

/** Of apps/e2e only the judge of `npm run chaos` and the quick rules have unit and integration tests: the rest are stories. */
const stories = '<rootDir>/apps/e2e/src/(?!chaos/|watched/)';

/**
 * Node loads the sources as `npm start` does, and a process runs many files: no test replaces modules, so none needs
 * a module graph of its own, which costs more than most tests.
 */
const bare = {
  rootDir: import.meta.dirname,
  runner: '<rootDir>/tools/dev/src/checks/light-runner.mjs',
  transform: {},
  setupFiles: ['<rootDir>/tools/dev/src/checks/bare-jest.mjs'],
  modulePathIgnorePatterns: ['<rootDir>/.*/dist/', '<rootDir>/tmp/'],
  roots: ['apps', 'libs', 'tools'].map((folder) => `<rootDir>/${folder}`),
};

export default {
  testSequencer: `${import.meta.dirname}/tools/dev/src/checks/longest-first.mjs`,
  reporters: ['default', '<rootDir>/tools/dev/src/checks/still-running.mjs'],
  projects: [
    {
      ...bare,
      displayName: 'unit',
      testMatch: ['**/*.spec.ts'],
      testPathIgnorePatterns: [...never, '\\.(int|slow|e2e)\\.spec\\.ts$', stories],
    },
    {
      ...bare,
      displayName: 'browser',
      // The browser builds of these libraries, with the same tests.
      testMatch: ['**/libs/{json,envelope,merkle}/src/**/*.spec.ts', '**/tools/verify/src/check-*.spec.ts'],
      setupFiles: [...bare.setupFiles, '<rootDir>/tools/dev/src/checks/browser-builds.mjs'],
      // The cost of hostile bodies matters only on servers.
      testPathIgnorePatterns: [...never, '\\.int\\.spec\\.ts$', 'nasty-bodies'],
    },
    {
      ...bare,
      displayName: 'integration',
      testMatch: ['**/*.int.spec.ts'],
      testPathIgnorePatterns: [...never, stories],
    },
    { ...bare, displayName: 'e2e', testMatch: ['**/apps/e2e/**/*.e2e.spec.ts'], testPathIgnorePatterns: never },
    { ...bare, displayName: 'slow', testMatch: ['**/*.slow.spec.ts'], testPathIgnorePatterns: never },
  ],
};
