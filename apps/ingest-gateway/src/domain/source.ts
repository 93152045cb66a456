import type { Limits } from './caller.ts';
import type { SchemeKey } from './schemes/scheme.ts';
import type { HmacForm, TokenPlace } from './schemes/schemes.ts';

export const SCHEME_NAMES = ['standard-webhooks', 'github', 'stripe', 'shopify', 'slack', 'hmac', 'token'] as const;
export type SchemeName = (typeof SCHEME_NAMES)[number];

/** Settings of a source that override its scheme. A place is `header:<name>` or a JSON pointer. */
export interface SourceSettings {
  readonly channels?: readonly string[];
  readonly type?: string;
  readonly typeFrom?: string;
  readonly idFrom?: string;
  readonly ownerFrom?: string;
  /** Maximum distance of a signed timestamp from now. */
  readonly toleranceSeconds?: number;
  readonly allowedTypes?: readonly string[];
  readonly limits?: Limits;
  /** For the scheme hmac only. */
  readonly signature?: HmacForm;
  /** For the scheme token only. */
  readonly token?: TokenPlace;
}

export const DEFAULT_TOLERANCE_SECONDS = 300;

/** A source that accepts deliveries: neither deleted nor disabled, and its network exists. */
export interface LiveSource {
  readonly sourceId: string;
  readonly scheme: SchemeName;
  readonly settings: SourceSettings;
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
