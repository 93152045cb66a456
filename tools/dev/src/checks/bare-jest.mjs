import { registerHooks } from 'node:module';

/**
 * Tests run in bare Node, without a module graph and globals of their own for each file (jest-light-runner), so that
 * `@jest/globals` has to hold that runner's globals: the package itself only works in Jest's own. Its tests have no
 * time limit; the functions here add one.
 */
const GLOBALS = 'jest:globals';

/** Guards against hangs only: a busy machine is not a failure. */
const LIMIT_MS = 60_000;

/** Rejects once the limit has passed; what the function still does is not waited for. */
const limited =
  (run, limitMs = LIMIT_MS) =>
  async (...row) => {
    const { promise, reject } = Promise.withResolvers();
    const timer = setTimeout(() => reject(new Error(`It took longer than ${limitMs} ms.`)), limitMs);
    try {
      return await Promise.race([run(...row), promise]);
    } finally {
      clearTimeout(timer);
    }
  };

const limitedHook = (hook) => (run, limitMs) => hook(limited(run, limitMs));

const limitedTest = (test) => {
  const declare = (name, run, limitMs) => test(name, limited(run, limitMs));
  const each =
    (...table) =>
    (name, run, limitMs) =>
      test.each(...table)(name, limited(run, limitMs));
  return Object.assign(declare, { each });
};

/** What `@jest/globals` exports. Made on its first import, when the runner has set its globals. */
function jestGlobals() {
  const { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it: test, jest } = globalThis;
  const it = Object.assign(limitedTest(test), { skip: test.skip, only: limitedTest(test.only) });
  const hooks = { afterAll, afterEach, beforeAll, beforeEach };
  const limitedHooks = Object.entries(hooks).map(([name, hook]) => [name, limitedHook(hook)]);
  return { ...Object.fromEntries(limitedHooks), describe, expect, it, test: it, jest };
}

const NAMES = ['afterAll', 'afterEach', 'beforeAll', 'beforeEach', 'describe', 'expect', 'it', 'jest', 'test'];
globalThis[Symbol.for(GLOBALS)] = jestGlobals;
const source = `export const { ${NAMES.join(', ')} } = globalThis[Symbol.for('${GLOBALS}')]();`;

registerHooks({
  resolve: (specifier, context, next) =>
    specifier === '@jest/globals' ? { url: GLOBALS, shortCircuit: true } : next(specifier, context),
  load: (url, context, next) =>
    url === GLOBALS ? { format: 'module', source, shortCircuit: true } : next(url, context),
});
