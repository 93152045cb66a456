import type { UnitGuard } from '@sealgate/ledger-port';
import type { Limits } from '../schemas.ts';
import type { SchemeKey, SignatureForm, TokenPlace } from './schemes/scheme-settings.ts';

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

export const PERMISSIONS = ['ingest:ping', 'ingest:write'] as const;
type Permission = (typeof PERMISSIONS)[number];

/** What an ingest key may do. Absent `permissions` allow everything, `[]` nothing; the same for types. */
export interface KeyGrants {
  readonly permissions?: readonly Permission[];
  readonly allowedAssetTypes?: readonly string[];
  /** `whole`: a top-level object that is neither a ping nor a batch is stored as it is, whatever its members are. */
  readonly record: 'envelope' | 'whole';
  readonly defaultType?: string;
  readonly limits?: Limits;
}

export const SCHEME_NAMES = ['standard-webhooks', 'github', 'stripe', 'shopify', 'slack', 'hmac', 'token'] as const;
export type SchemeName = (typeof SCHEME_NAMES)[number];

/** Settings of a source that override its scheme. A place is `header:<name>` or a JSON pointer. */
export interface SourceSettings {
  readonly channels?: readonly string[];
  readonly type?: string;
  readonly typeFrom?: string;
  /** The place of the delivery id, unless the scheme's. Deliveries without one are identified by their bytes. */
  readonly deliveryIdFrom?: string;
  /** The place of the record id, and of the delivery id where the scheme and `deliveryIdFrom` have none. */
  readonly idFrom?: string;
  readonly ownerFrom?: string;
  /** Maximum distance of a signed timestamp from now. */
  readonly toleranceSeconds?: number;
  readonly allowedTypes?: readonly string[];
  readonly limits?: Limits;
  /** Largest body; absent: DEFAULT_MAX_BYTES. */
  readonly maxBytes?: number;
  /** How long refused deliveries are kept, encrypted, to be processed again. Absent or 0: not at all. */
  readonly keepRefusedHours?: number;
  /** For the scheme hmac only. */
  readonly signature?: SignatureForm;
  /** For the scheme token only. */
  readonly token?: TokenPlace;
}

export const DEFAULT_TOLERANCE_SECONDS = 300;

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
