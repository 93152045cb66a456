/** What runs: told by `/version`, `--version`, a metric and the first line of the log. */
export interface BuildInfo {
  /** Of the release, by Semantic Versioning. */
  readonly version: string;
  /** The commit that it was built from; null where the builder did not say. */
  readonly commit: string | null;
  /** The version of Node that runs it, without a `v`. */
  readonly node: string;
}

// Put in place by tools/dev/bundle.ts; absent where the sources run as they are.
declare const SEALGATE_BUILD_VERSION: string | undefined;
declare const SEALGATE_BUILD_COMMIT: string | undefined;

const commit = typeof SEALGATE_BUILD_COMMIT === 'string' ? SEALGATE_BUILD_COMMIT : '';

export const buildInfo: BuildInfo = Object.freeze({
  version: typeof SEALGATE_BUILD_VERSION === 'string' ? SEALGATE_BUILD_VERSION : '0.0.0-sources',
  commit: commit === '' ? null : commit,
  node: globalThis.process.versions.node,
});
