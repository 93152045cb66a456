import type { LookedUp } from './check-entry.ts';
import type { Scope } from './key-grants.ts';

/** Who asks: a live gk_ key of one environment. */
export interface GateCaller {
  readonly keyId: string;
  /** Old and new key of a rotation are one family: replays survive it. */
  readonly familyId: string;
  readonly environment: string;
  readonly scopes: readonly Scope[];
  /** The gate has limits of its own. */
  readonly bucket: 'api' | 'gate';
  /** At the gate: what was found for each entry that the body names, in that order. */
  readonly found: readonly LookedUp[];
  /** At the gate: when the last byte of the body had been read, in milliseconds since the epoch. */
  readonly readAtMs: number;
}

/** An entry to look up. Patterns were matched: an id that none can be is not asked for. */
export interface EntryIds {
  readonly subjectRef: string;
  readonly venueId: string;
}
