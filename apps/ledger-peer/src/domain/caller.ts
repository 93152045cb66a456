/** The caller: the holder of a configured key, or anyone if none is configured. */
export interface PeerCaller {
  /** Keys of one family share their jobs and Idempotency-Keys, so that both survive a key rotation. */
  readonly familyId: string;
  /** The rate limit bucket. */
  readonly bucket: string;
  /** Which limit applies: those of the log are many times higher. */
  readonly limit: 'calls' | 'log';
}

/** The family of callers without a key: they share their jobs and Idempotency-Keys. */
export const ANYBODY = 'anybody';
