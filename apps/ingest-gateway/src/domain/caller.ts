import type { UnitGuard } from '@sealgate/ledger-port';
import type { KeyGrants, Limits } from './key-grants.ts';
import type { LiveSource } from './source.ts';

/**
 * Who sends: a live ingest key and the network it is scoped to. Or a source, whose id then stands in the place of key and
 * family: it is only known whose delivery it claims to be, until its signature was looked at.
 */
export interface IngestCaller {
  readonly keyId: string;
  /** Old and new key of a rotation are one family: replays survive it. */
  readonly familyId: string;
  readonly networkId: string;
  readonly channels: readonly string[];
  readonly grants: KeyGrants;
  readonly networkLimits: Limits | undefined;
  /** Present: a source, which may deliver and nothing else. */
  readonly source?: LiveSource;
  /** Names the key, or the source, in the version that was looked up: what all of the above depends on. */
  readonly guard: UnitGuard;
}
