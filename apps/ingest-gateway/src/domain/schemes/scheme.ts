import { createSecretKey, timingSafeEqual, type KeyObject } from 'node:crypto';
import type { LiveSource, SchemeKey } from '../caller.ts';
import type { SourceSettings } from '../source.ts';

/** A delivery as it was received. */
export interface RawDelivery {
  /** The value of a header by its lower-case name. */
  header(name: string): string | undefined;
  /** The bytes that were signed. */
  readonly body: Buffer;
}

/** What the schemes need of a source. */
export type SignedSource = Pick<LiveSource, 'keys' | 'settings' | 'url'>;

/** What a valid signature proves. */
export interface Vouched {
  /** The id of the secret that verified it. */
  readonly keyId: string;
  /** Whole seconds since the epoch, where the signature covers them. */
  readonly timestamp?: number;
  /** The delivery id, where the signature covers it. */
  readonly deliveryId?: string;
  /** With a public key: what an outsider needs, besides the bytes of the delivery, to verify it again. */
  readonly evidence?: { readonly signature: string; readonly signedSha256: string };
}

/**
 * Why a delivery is not authentic, for the operator of its source. The sender is not told.
 * - header-missing, header-malformed: a header that the signature needs; `header` is its name
 * - no-matching-secret: none of the secrets verifies the signature
 * - clock-skew: rightly signed, but its timestamp is out of tolerance; `seconds` is how far it is ahead of our clock,
 *   negative where it is behind
 */
export const UNVOUCHED_REASONS = ['header-missing', 'header-malformed', 'no-matching-secret', 'clock-skew'] as const;

export interface Unvouched {
  readonly unvouched: (typeof UNVOUCHED_REASONS)[number];
  readonly header?: string;
  readonly seconds?: number;
}

export const isVouched = (verdict: Vouched | Unvouched): verdict is Vouched => !('unvouched' in verdict);

const missingHeader = (header: string): Unvouched => ({ unvouched: 'header-missing', header });
export const malformedHeader = (header: string): Unvouched => ({ unvouched: 'header-malformed', header });
export const NO_MATCH: Unvouched = { unvouched: 'no-matching-secret' };

/** A test delivery to be signed. */
export interface SignOrder {
  readonly key: SchemeKey;
  readonly body: Buffer;
  readonly deliveryId: string;
  /** Whole seconds since the epoch. */
  readonly timestamp: number;
}

/** How one kind of sender signs, and where its deliveries hold the parts of a record. */
export interface Scheme {
  /** The form of a secret, for error details. */
  readonly secretForm: (settings: SourceSettings) => string;
  /** Undefined where the text is not a secret of this scheme. */
  readonly readKey: (value: string, settings: SourceSettings) => KeyObject | undefined;
  /**
   * Takes a bounded number of signature operations per secret, and compares in constant time. Does not check that a
   * timestamp is recent: `vouch` does.
   *
   * @throws AppError UNAVAILABLE where the signature covers a URL that this process does not know.
   */
  readonly verify: (delivery: RawDelivery, source: SignedSource) => Vouched | Unvouched;
  /** The headers of a delivery that `verify` accepts; undefined where the key can only verify. */
  readonly sign: (
    order: SignOrder,
    source: Pick<SignedSource, 'settings' | 'url'>,
  ) => Record<string, string> | undefined;
  /** The place of the delivery id: `header:<name>` or a pointer into the body. Absent: `idFrom` of the source. */
  readonly deliveryIdFrom?: string;
  /** The place of the type of the record, unless the source configures another. */
  readonly typeFrom?: string;
  /** Whether a body of type `url_verification` is answered with its `challenge`. */
  readonly answersChallenge?: true;
}

const TEXT_SECRET = /^[\x20-\x7e]{16,512}$/;

export const TEXT_SECRET_FORM = 'a text of 16 to 512 printable ASCII characters';

/** A secret whose text is the key. */
export function textKey(value: string): KeyObject | undefined {
  return TEXT_SECRET.test(value) ? createSecretKey(Buffer.from(value)) : undefined;
}

/** The bytes of a base64 text with padding; undefined unless it is the canonical encoding of those bytes. */
export function exactBytes(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64') === text ? bytes : undefined;
}

/** Longer headers of signatures are refused; no supported sender sends one. */
const MAX_SIGNATURE_LENGTH = 2048;
/** A sender signs with two secrets while one is rotated. */
export const MOST_SIGNATURES = 10;
const SIGNED_ID = /^[\x21-\x7e]{1,256}$/;

/** The value of a header that a signature needs. */
export function neededHeader({ header }: RawDelivery, name: string): string | Unvouched {
  const text = header(name);
  if (text === undefined || text === '') return missingHeader(name);
  return text.length > MAX_SIGNATURE_LENGTH ? malformedHeader(name) : text;
}

/** A header with a delivery id that is signed. */
export function neededId(delivery: RawDelivery, name: string): string | Unvouched {
  const text = neededHeader(delivery, name);
  return typeof text === 'string' && !SIGNED_ID.test(text) ? malformedHeader(name) : text;
}

/** The number of a timestamp in its one canonical form; undefined for any other text. */
export function timestampOf(text: string | undefined): number | undefined {
  return text !== undefined && /^[1-9]\d{0,10}$/.test(text) ? Number(text) : undefined;
}

/** Compares two encoded signatures in a time that depends only on their lengths. */
export function isSameText(one: string, other: string): boolean {
  return one.length === other.length && timingSafeEqual(Buffer.from(one, 'latin1'), Buffer.from(other, 'latin1'));
}
