import { registerHooks } from 'node:module';

/**
 * Replaces Buffer and node:crypto in the verifier's libraries with what they use in a browser. Signatures stay Node's,
 * because those of a browser are asynchronous; the tests of the pages check them in a real browser.
 */
registerHooks({
  resolve: (specifier, context, next) => next(specifier === '#platform' ? './platform-browser.ts' : specifier, context),
});
