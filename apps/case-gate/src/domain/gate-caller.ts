import type { Scope } from './key-grants.ts';

/** The owner of a live gk_ key of one environment. */
export interface GateCaller {
  readonly keyId: string;
  /** The old and the new key of a rotation share it, so idempotent replays survive the rotation. */
  readonly familyId: string;
  readonly environment: string;
  readonly scopes: readonly Scope[];
  /** The rate limit that a request counts against. */
  readonly bucket: 'api' | 'gate';
}

/** An entry to look up. Both ids match their patterns; others are never looked up. */
export interface EntryIds {
  readonly subjectRef: string;
  readonly venueId: string;
}
