import { createSecretKey, timingSafeEqual, type KeyObject } from 'node:crypto';
import type { SourceSettings } from '../caller.ts';

/** A delivery as it was received. */
export interface RawDelivery {
  /** The value of a header by its lower-case name. */
  header(name: string): string | undefined;
  /** The bytes that were signed. */
  readonly body: Buffer;
}

/** A secret of a source, ready for verification. With a public key only its owner can sign. */
export interface SchemeKey {
  readonly id: string;
  readonly key: KeyObject;
}

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

export const missingHeader = (header: string): Unvouched => ({ unvouched: 'header-missing', header });
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
  readonly secretForm: string;
  /** Undefined where the text is not a secret of this scheme. */
  readonly readKey: (value: string) => KeyObject | undefined;
  /**
   * Takes a bounded number of signature operations per secret, and compares in constant time. Does not check that a
   * timestamp is recent: `vouch` does.
   */
  readonly verify: (delivery: RawDelivery, keys: readonly SchemeKey[], settings: SourceSettings) => Vouched | Unvouched;
  /** The headers of a delivery that `verify` accepts; undefined where the key can only verify. */
  readonly sign: (order: SignOrder, settings: SourceSettings) => Record<string, string> | undefined;
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

/** Longer headers of signatures are refused; no supported sender sends one. */
export const MAX_SIGNATURE_LENGTH = 2048;

/** The number of a timestamp in its one canonical form; undefined for any other text. */
export function timestampOf(text: string | undefined): number | undefined {
  return text !== undefined && /^[1-9]\d{0,10}$/.test(text) ? Number(text) : undefined;
}

/** Compares two encoded signatures in a time that depends only on their lengths. */
export function isSameText(one: string, other: string): boolean {
  return one.length === other.length && timingSafeEqual(Buffer.from(one, 'latin1'), Buffer.from(other, 'latin1'));
}
