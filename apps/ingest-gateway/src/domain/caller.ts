import type { KeyGrants, Limits } from './key-grants.ts';

/** Who sends: a live ingest key and the network it is scoped to. */
export interface IngestCaller {
  readonly keyId: string;
  /** Old and new key of a rotation are one family: replays survive it. */
  readonly familyId: string;
  readonly networkId: string;
  readonly channels: readonly string[];
  readonly grants: KeyGrants;
  readonly networkLimits: Limits | undefined;
}
