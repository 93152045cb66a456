import { createHmac, createPublicKey, createSecretKey, verify, type KeyObject } from 'node:crypto';
import { AppError } from '@sealgate/errors';
import { sha256 } from '@sealgate/json';
import type { SchemeKey } from '../caller.ts';
import type { SignatureForm, SourceSettings } from '../source.ts';
import {
  exactBytes,
  isSameText,
  malformedHeader,
  MOST_SIGNATURES,
  neededHeader,
  neededId,
  NO_MATCH,
  TEXT_SECRET_FORM,
  textKey,
  type RawDelivery,
  type Scheme,
  type SignedSource,
  type SignOrder,
  type Unvouched,
  type Vouched,
} from './scheme.ts';
import { isDividedOnce, secondsOf, templateParts, type Piece, type PLACEHOLDERS } from './template.ts';

type Placeholder = (typeof PLACEHOLDERS)[number];

const isHmac = ({ algorithm }: SignatureForm): boolean => algorithm.startsWith('sha');

/** Two forms with the same kind of key take the same secrets. */
export const keyKindOf = (form: SignatureForm | undefined): string =>
  form === undefined ? '' : isHmac(form) ? (form.secretEncoding ?? 'text') : form.algorithm;

const signs = ({ signed }: SignatureForm, name: Placeholder): boolean => signed.includes(`{${name}}`);

/** The header whose value is `{id}`: that of the delivery id. */
export function signedIdHeader({ deliveryIdFrom, idFrom }: SourceSettings): string | undefined {
  const place = deliveryIdFrom ?? idFrom;
  return place?.startsWith('header:') === true ? place.slice('header:'.length) : undefined;
}

/** A scheme with one kind of signature: `formOf` returns its form, from the settings of a source or fixed. */
export function signatureScheme(
  formOf: (settings: SourceSettings) => SignatureForm,
  rest: Pick<Scheme, 'deliveryIdFrom' | 'typeFrom' | 'answersChallenge'> = {},
): Scheme {
  return {
    ...rest,
    secretForm: (settings) => secretFormOf(formOf(settings)),
    readKey: (value, settings) => keyOf(formOf(settings), value),
    verify: (delivery, source) => verifyForm(formOf(source.settings), delivery, source),
    sign: (order, source) => signForm(formOf(source.settings), order, source),
  };
}

function verifyForm(form: SignatureForm, delivery: RawDelivery, source: SignedSource): Vouched | Unvouched {
  const given = signaturesIn(form, delivery);
  if ('unvouched' in given) return given;
  const { signatures, time } = given;
  const timestamp = time === undefined ? undefined : secondsOf(time, form.timestampFormat);
  if (time !== undefined && timestamp === undefined) return malformedHeader(form.timestampHeader ?? form.header);
  const idHeader = signs(form, 'id') ? signedIdHeader(source.settings) : undefined;
  const deliveryId = idHeader === undefined ? undefined : neededId(delivery, idHeader);
  if (typeof deliveryId === 'object') return deliveryId;
  const signed = signedParts(form, { id: deliveryId, timestamp: time, url: source.url, body: delivery.body });
  const found = isHmac(form)
    ? bySecret(form, source.keys, { signed, signatures })
    : byPublicKey(form, source.keys, { signed, signatures });
  if (found === undefined) return NO_MATCH;
  if (!isDividedOnce(piecesOf(form, signed), form.timestampFormat)) return movable(form, idHeader);
  return {
    ...found,
    ...(timestamp === undefined ? {} : { timestamp }),
    ...(deliveryId === undefined ? {} : { deliveryId }),
  };
}

/** What could be moved between the body and another part: the id, or else the timestamp. */
const movable = ({ timestampHeader, header }: SignatureForm, idHeader: string | undefined): Unvouched =>
  malformedHeader(idHeader ?? timestampHeader ?? header);

interface Given {
  /** As encoded, without the prefix. */
  readonly signatures: readonly string[];
  /** The text of the timestamp, which is signed as it came. */
  readonly time: string | undefined;
}

function signaturesIn(form: SignatureForm, delivery: RawDelivery): Given | Unvouched {
  const given = neededHeader(delivery, form.header);
  if (typeof given !== 'string') return given;
  const { texts, times } = membersIn(form, given);
  const isBounded = texts.length > 0 && texts.length <= MOST_SIGNATURES;
  // With two timestamps it is ambiguous which one was signed.
  const isTimed = form.timestampMember === undefined || times.length === 1;
  if (!isBounded || !isTimed || !texts.every((text) => text.startsWith(form.prefix)))
    return malformedHeader(form.header);
  const signatures = texts.map((text) => text.slice(form.prefix.length));
  if (form.timestampHeader === undefined) return { signatures, time: times[0] };
  const time = neededHeader(delivery, form.timestampHeader);
  return typeof time === 'string' ? { signatures, time } : time;
}

/** The signatures and timestamps of a header: in a list its members, else the header itself. */
function membersIn({ signatureMember, timestampMember, separator }: SignatureForm, given: string) {
  if (signatureMember === undefined) return { texts: [given], times: [] };
  const members = membersOf(given, separator);
  return {
    texts: members.get(signatureMember) ?? [],
    times: timestampMember === undefined ? [] : (members.get(timestampMember) ?? []),
  };
}

/** Values by name, in order. What is not `name=value` is ignored, as members of other names are. */
function membersOf(text: string, separator: string = ','): Map<string, string[]> {
  const members = new Map<string, string[]>();
  for (const part of text.split(separator)) {
    const equals = part.indexOf('=');
    if (equals < 0) continue;
    const [name, value] = [part.slice(0, equals).trim(), part.slice(equals + 1).trim()];
    const values = members.get(name);
    if (values === undefined) members.set(name, [value]);
    else values.push(value);
  }
  return members;
}

interface Signable {
  readonly id: string | undefined;
  readonly timestamp: string | undefined;
  readonly url: string | undefined;
  readonly body: Buffer;
}

function signedParts(form: SignatureForm, { id, timestamp, url, body }: Signable): (string | Buffer)[] {
  if (url === undefined && signs(form, 'url'))
    throw new AppError('UNAVAILABLE', 'The signature covers the URL of the source, and PUBLIC_URL is not set.');
  const values: Record<string, string | Buffer | undefined> = { id, timestamp, url, body, method: 'POST' };
  return (templateParts(form.signed) ?? []).map((part) =>
    'literal' in part ? part.literal : (values[part.name] ?? ''),
  );
}

const PEEKED_BYTES = 512;

/** The parts of the template with what was signed for them. */
const piecesOf = ({ signed }: SignatureForm, values: readonly (string | Buffer)[]): Piece[] =>
  (templateParts(signed) ?? []).map((part, at) => {
    const value = values[at] ?? '';
    const text = typeof value === 'string' ? value : value.toString('latin1', 0, PEEKED_BYTES);
    return { name: 'name' in part ? part.name : '', text };
  });

interface Signed {
  readonly signed: readonly (string | Buffer)[];
  readonly signatures: readonly string[];
}

type Found = Pick<Vouched, 'keyId' | 'evidence'>;

function bySecret(form: SignatureForm, keys: readonly SchemeKey[], { signed, signatures }: Signed): Found | undefined {
  for (const { id, key } of keys) {
    const expected = digestOf(form, key, signed);
    if (signatures.some((signature) => isSameText(signature, expected))) return { keyId: id };
  }
  return undefined;
}

/** Compared as text, because several base64 texts decode to the same bytes, and only one is the signature. */
function digestOf({ algorithm, encoding }: SignatureForm, key: KeyObject, signed: Signed['signed']): string {
  const hmac = createHmac(algorithm, key);
  for (const part of signed) hmac.update(part);
  return hmac.digest(encoding);
}

/** Verifications of one delivery by one public key, which cost more than an HMAC. */
const MOST_VERIFICATIONS = 3;

function byPublicKey(
  { algorithm, encoding }: SignatureForm,
  keys: readonly SchemeKey[],
  { signed, signatures }: Signed,
): Found | undefined {
  const bytes = Buffer.concat(signed.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)));
  for (const text of signatures.slice(0, MOST_VERIFICATIONS)) {
    const signature = encoding === 'hex' ? hexBytes(text) : exactBytes(text);
    if (signature === undefined) continue;
    const found = keys.find(({ key }) => isSignedBy(algorithm, key, { bytes, signature }));
    if (found !== undefined)
      return { keyId: found.id, evidence: { signature: text, signedSha256: sha256(bytes).toString('hex') } };
  }
  return undefined;
}

/** Both integers of a P-256 signature at their full length; DER is longer or shorter. */
const P256_RAW_BYTES = 64;

function isSignedBy(
  algorithm: SignatureForm['algorithm'],
  key: KeyObject,
  { bytes, signature }: { readonly bytes: Buffer; readonly signature: Buffer },
): boolean {
  if (algorithm === 'ed25519') return verify(null, bytes, key, signature);
  const dsaEncoding = signature.length === P256_RAW_BYTES ? 'ieee-p1363' : 'der';
  return verify('sha256', bytes, { key, dsaEncoding }, signature);
}

const hexBytes = (text: string): Buffer | undefined =>
  /^(?:[0-9a-f]{2})+$/.test(text) ? Buffer.from(text, 'hex') : undefined;

/** Undefined with a public key, which only verifies. */
function signForm(
  form: SignatureForm,
  { key, body, timestamp, deliveryId }: SignOrder,
  { settings, url }: Pick<SignedSource, 'settings' | 'url'>,
): Record<string, string> | undefined {
  if (!isHmac(form)) return undefined;
  const { header, prefix, signatureMember, timestampMember, timestampHeader, separator = ',' } = form;
  const time = timeText(timestamp, form.timestampFormat);
  const signed = signedParts(form, { id: deliveryId, timestamp: time, url, body });
  const signature = prefix + digestOf(form, key.key, signed);
  const members = [
    ...(timestampMember === undefined ? [] : [`${timestampMember}=${time}`]),
    ...(signatureMember === undefined ? [signature] : [`${signatureMember}=${signature}`]),
  ];
  const idHeader = signs(form, 'id') ? signedIdHeader(settings) : undefined;
  return {
    [header]: members.join(separator),
    ...(timestampHeader === undefined ? {} : { [timestampHeader]: time }),
    ...(idHeader === undefined ? {} : { [idHeader]: deliveryId }),
  };
}

function timeText(seconds: number, format: SignatureForm['timestampFormat']): string {
  if (format === 'rfc3339') return new Date(seconds * 1000).toISOString();
  return String(format === 'milliseconds' ? seconds * 1000 : seconds);
}

const KEY_BYTES = { min: 16, max: 256 };

function secretFormOf(form: SignatureForm): string {
  if (form.algorithm === 'ed25519')
    return 'an Ed25519 public key: PEM, its DER in base64, or its 32 bytes in base64 or hex';
  if (form.algorithm === 'ecdsa-p256') return 'an ECDSA P-256 public key: PEM, or its DER in base64';
  const { secretEncoding = 'text' } = form;
  return secretEncoding === 'text'
    ? TEXT_SECRET_FORM
    : `${KEY_BYTES.min} to ${KEY_BYTES.max} bytes in ${secretEncoding}`;
}

function keyOf(form: SignatureForm, value: string): KeyObject | undefined {
  if (!isHmac(form)) return publicKeyOf(form.algorithm, value);
  const { secretEncoding = 'text' } = form;
  if (secretEncoding === 'text') return textKey(value);
  const bytes = secretEncoding === 'hex' ? hexBytes(value.toLowerCase()) : exactBytes(value);
  const isLong = bytes !== undefined && bytes.length >= KEY_BYTES.min && bytes.length <= KEY_BYTES.max;
  return isLong ? createSecretKey(bytes) : undefined;
}

const ED25519_KEY_BYTES = 32;

/** A private key is refused: whoever verifies does not need one. */
function publicKeyOf(algorithm: SignatureForm['algorithm'], value: string): KeyObject | undefined {
  // An input field of one line drops the line breaks of PEM.
  const base64 = value.replaceAll(/-----(?:BEGIN|END) PUBLIC KEY-----|\s/g, '');
  const raw = /^[0-9a-f]{64}$/i.test(base64) ? Buffer.from(base64, 'hex') : exactBytes(base64);
  if (raw === undefined) return undefined;
  try {
    if (algorithm === 'ed25519' && raw.length === ED25519_KEY_BYTES) return ed25519Key(raw);
    const key = createPublicKey({ key: raw, format: 'der', type: 'spki' });
    const isFit =
      algorithm === 'ed25519'
        ? key.asymmetricKeyType === 'ed25519'
        : key.asymmetricKeyDetails?.namedCurve === 'prime256v1';
    return isFit ? key : undefined;
  } catch {
    // OpenSSL has no stable codes for texts that are not keys.
    return undefined;
  }
}

export const ed25519Key = (bytes: Buffer): KeyObject =>
  createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: bytes.toString('base64url') }, format: 'jwk' });
