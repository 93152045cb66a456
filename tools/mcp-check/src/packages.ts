/**
 * The two programs of the Model Context Protocol project that are run, with the versions that the tables of expectations
 * were written for. npx brings them: nothing of ours depends on them.
 */
export const PACKAGES = {
  inspector: '@modelcontextprotocol/inspector@2.12.0',
  conformance: '@modelcontextprotocol/conformance@0.2.0-alpha.12',
} as const;
