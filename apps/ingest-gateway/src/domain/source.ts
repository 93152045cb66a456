import type { Limits } from './key-grants.ts';
import type { HmacForm } from './schemes/hmac-signature.ts';
import type { SchemeKey } from './schemes/scheme.ts';
import type { TokenPlace } from './schemes/shared-token.ts';

export const SCHEME_NAMES = ['standard-webhooks', 'github', 'stripe', 'shopify', 'slack', 'hmac', 'token'] as const;
export type SchemeName = (typeof SCHEME_NAMES)[number];

/** What a source says beyond its scheme. Absent: what the scheme says. A place is `header:<name>` or a JSON pointer. */
export interface SourceSettings {
  readonly channels?: readonly string[];
  readonly type?: string;
  readonly typeFrom?: string;
  readonly idFrom?: string;
  readonly ownerFrom?: string;
  /** How far a signed timestamp may be from now. */
  readonly toleranceSeconds?: number;
  readonly allowedTypes?: readonly string[];
  readonly limits?: Limits;
  /** Of the scheme hmac alone. */
  readonly signature?: HmacForm;
  /** Of the scheme token alone. */
  readonly token?: TokenPlace;
}

export const DEFAULT_TOLERANCE_SECONDS = 300;

/** A source that takes deliveries now: neither deleted nor disabled, and its network is there. */
export interface LiveSource {
  readonly sourceId: string;
  readonly scheme: SchemeName;
  readonly settings: SourceSettings;
  readonly keys: readonly SchemeKey[];
  /** False: a secret was sealed under a server secret that this process does not have. */
  readonly hasAllKeys: boolean;
}

const SOURCE_ID = /^src_[A-Za-z0-9_-]{22}$/;

export function isSourceId(text: string): boolean {
  return SOURCE_ID.test(text);
}

/** Where deliveries of a source go. */
export const pathOfSource = (sourceId: string): string => `/hooks/${sourceId}`;
