import type { KeyObject } from 'node:crypto';
import type { UnitGuard } from '@sealgate/ledger-port';
import type { Limits } from '../schemas.ts';
import type { KeyGrants } from './key.ts';
import type { SchemeName, SourceSettings } from './source.ts';

/**
 * The caller of the public listener: a live ingest key and its network. Or a source, whose id then replaces the key and
 * family ids; until its signature is verified the sender is only claimed.
 */
export interface IngestCaller {
  readonly keyId: string;
  /** Old and new key of a rotation are one family, so replays survive a rotation. */
  readonly familyId: string;
  readonly networkId: string;
  readonly channels: readonly string[];
  readonly grants: KeyGrants;
  readonly networkLimits: Limits | undefined;
  /** Present for a source, which may only deliver. */
  readonly source?: LiveSource;
  /** The key or source and its version at look-up, which covers all members above. */
  readonly guard: UnitGuard;
}

/** A caller that is a source. */
export type SourceCaller = IngestCaller & { readonly source: LiveSource };

/** A secret of a source, ready for verification. With a public key only its owner can sign. */
export interface SchemeKey {
  readonly id: string;
  readonly key: KeyObject;
}

/** A source that accepts deliveries: neither deleted nor disabled, and its network exists. */
export interface LiveSource {
  readonly sourceId: string;
  readonly scheme: SchemeName;
  readonly settings: SourceSettings;
  /** The URL that its sender posts to; undefined where PUBLIC_URL is not set. */
  readonly url?: string | undefined;
  readonly keys: readonly SchemeKey[];
  /** False: a secret was encrypted with a server secret that this process does not have. */
  readonly hasAllKeys: boolean;
}

const SOURCE_ID = /^src_[A-Za-z0-9_-]{22}$/;

export function isSourceId(text: string): boolean {
  return SOURCE_ID.test(text);
}

/** The path for deliveries of a source. */
export const pathOfSource = (sourceId: string): string => `/hooks/${sourceId}`;
