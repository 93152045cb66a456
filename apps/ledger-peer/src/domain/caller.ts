/** Who asks: the holder of a configured key, or anybody where none is configured. */
export interface PeerCaller {
  /** Keys of one family share their jobs and Idempotency-Keys, so that both survive a rotation. */
  readonly familyId: string;
  /** What the limits are charged to. */
  readonly bucket: string;
  /** By which of the limits: those of the log are many times higher. */
  readonly limit: 'calls' | 'log';
}
