/** The running version, as shown by `/version`, `--version`, a metric and the first log line. */
interface BuildInfo {
  /** Release version (SemVer). */
  readonly version: string;
  /** Commit of the build; null if the builder did not set it. */
  readonly commit: string | null;
  /** Node version, without a `v`. */
  readonly node: string;
}

// Set by tools/dev/bundle.ts; absent when running from sources.
declare const SEALGATE_BUILD_VERSION: string | undefined;
declare const SEALGATE_BUILD_COMMIT: string | undefined;

const commit = typeof SEALGATE_BUILD_COMMIT === 'string' ? SEALGATE_BUILD_COMMIT : '';

export const buildInfo: BuildInfo = Object.freeze({
  version: typeof SEALGATE_BUILD_VERSION === 'string' ? SEALGATE_BUILD_VERSION : '0.0.0-sources',
  commit: commit === '' ? null : commit,
  node: globalThis.process.versions.node,
});
