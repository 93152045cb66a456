import { createSecretKey, timingSafeEqual, type KeyObject } from 'node:crypto';
import type { SourceSettings } from '../source.ts';

/** What a sender sent, as it came. */
export interface RawDelivery {
  /** The value of a header by its lower-case name. */
  header(name: string): string | undefined;
  /** The bytes that were signed. */
  readonly body: Buffer;
}

/** A secret of a source, ready to check with. A public key checks what its owner alone can sign. */
export interface SchemeKey {
  readonly id: string;
  readonly key: KeyObject;
}

/** What a signature that holds says. */
export interface Vouched {
  /** The id of the secret that it holds under. */
  readonly keyId: string;
  /** Whole seconds since the epoch, where the signature covers them. */
  readonly timestamp?: number;
  /** The delivery id, where the signature covers it. */
  readonly deliveryId?: string;
  /** Of a public key: what an outsider needs to check it again, besides the bytes of the delivery. */
  readonly evidence?: { readonly signature: string; readonly signedSha256: string };
}

/** A delivery to be signed: for test deliveries. */
export interface SignOrder {
  readonly key: SchemeKey;
  readonly body: Buffer;
  readonly deliveryId: string;
  /** Whole seconds since the epoch. */
  readonly timestamp: number;
}

/** How the senders of one kind sign, and where they put what a record is made from. */
export interface Scheme {
  /** What a secret is, for people. */
  readonly secretForm: string;
  /** Undefined where the text is no secret of this scheme. */
  readonly readKey: (value: string) => KeyObject | undefined;
  /**
   * Undefined where nothing vouches for the delivery; it is not said why. Takes one signature operation for each secret at
   * most, and compares in constant time. Whether a timestamp is recent is not looked at here.
   */
  readonly verify: (delivery: RawDelivery, keys: readonly SchemeKey[], settings: SourceSettings) => Vouched | undefined;
  /** The headers of a delivery that `verify` takes; undefined where the key can only check. */
  readonly sign: (order: SignOrder, settings: SourceSettings) => Record<string, string> | undefined;
  /** Where the delivery id is: `header:<name>` or a pointer into the body. Absent: where `idFrom` says. */
  readonly deliveryIdFrom?: string;
  /** Where the type of the record is, unless the source says otherwise. */
  readonly typeFrom?: string;
  /** Whether a body of type `url_verification` is answered with its `challenge`. */
  readonly answersChallenge?: true;
}

const TEXT_SECRET = /^[\x20-\x7e]{16,512}$/;

export const TEXT_SECRET_FORM = 'a text of 16 to 512 printable ASCII characters';

/** A secret that is taken as the text it is. */
export function textKey(value: string): KeyObject | undefined {
  return TEXT_SECRET.test(value) ? createSecretKey(Buffer.from(value)) : undefined;
}

/** No sender's header of signatures is longer. */
export const MAX_SIGNATURE_LENGTH = 2048;

/** A timestamp as every scheme writes it, so that the text has one form; undefined for another. */
export function timestampOf(text: string | undefined): number | undefined {
  return text !== undefined && /^[1-9]\d{0,10}$/.test(text) ? Number(text) : undefined;
}

/** Whether two encoded signatures are the same, in a time that depends on their lengths alone. */
export function isSameText(one: string, other: string): boolean {
  return one.length === other.length && timingSafeEqual(Buffer.from(one, 'latin1'), Buffer.from(other, 'latin1'));
}
