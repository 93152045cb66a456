import type { KeyObject } from 'node:crypto';

/** A secret of a source, ready for verification. With a public key only its owner can sign. */
export interface SchemeKey {
  readonly id: string;
  readonly key: KeyObject;
}

export const TIMESTAMP_FORMATS = ['seconds', 'milliseconds', 'rfc3339'] as const;
export type TimestampFormat = (typeof TIMESTAMP_FORMATS)[number];

export const SIGNATURE_ALGORITHMS = ['sha1', 'sha256', 'sha512', 'ed25519', 'ecdsa-p256'] as const;
export const SIGNATURE_ENCODINGS = ['hex', 'base64'] as const;
export const SECRET_ENCODINGS = ['text', 'hex', 'base64'] as const;
export const SEPARATORS = [',', ';', ' '] as const;

/** How a delivery is signed: what, with which algorithm, and in which header. Most senders differ only in this. */
export interface SignatureForm {
  /** Lower case. */
  readonly header: string;
  /** HMAC with a hash, or a signature that a public key verifies. */
  readonly algorithm: (typeof SIGNATURE_ALGORITHMS)[number];
  /** Hex is in lower case. */
  readonly encoding: (typeof SIGNATURE_ENCODINGS)[number];
  /** The text before the signature, in its header or member. */
  readonly prefix: string;
  /** The header is a list `name=value`; signatures are the members of this name. */
  readonly signatureMember?: string;
  /** Separator of the list, with or without blanks around it; default a comma. */
  readonly separator?: (typeof SEPARATORS)[number];
  /** A template: literals, and placeholders in braces. */
  readonly signed: string;
  /** Where the timestamp is: a header of its own, or a member of the list. */
  readonly timestampHeader?: string;
  readonly timestampMember?: string;
  readonly timestampFormat?: TimestampFormat;
  /** Of secrets for HMAC; default text. */
  readonly secretEncoding?: (typeof SECRET_ENCODINGS)[number];
}

export const TOKEN_ENCODINGS = ['text', 'base64'] as const;

/** Where a shared token is sent. */
export interface TokenPlace {
  /** Lower case. */
  readonly header: string;
  /** The text before the token, such as `Bearer `. */
  readonly prefix: string;
  /** Basic credentials are sent in base64; default text. */
  readonly encoding?: (typeof TOKEN_ENCODINGS)[number];
}
