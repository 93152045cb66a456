import { createHmac, type KeyObject } from 'node:crypto';
import {
  isSameText,
  MAX_SIGNATURE_LENGTH,
  TEXT_SECRET_FORM,
  textKey,
  timestampOf,
  type RawDelivery,
  type Scheme,
  type SchemeKey,
  type Vouched,
} from './scheme.ts';

export const HMAC_ALGORITHMS = ['sha1', 'sha256', 'sha512'] as const;
export const HMAC_ENCODINGS = ['hex', 'base64'] as const;

/** How one HMAC over a delivery is made and sent: all that tells most senders apart. */
export interface HmacForm {
  /** Lower case. */
  readonly header: string;
  readonly algorithm: (typeof HMAC_ALGORITHMS)[number];
  /** Hex is in lower case. */
  readonly encoding: (typeof HMAC_ENCODINGS)[number];
  /** What stands before the signature in its header. */
  readonly prefix: string;
  /** What is signed before the body; `{timestamp}` in it is the value of `timestampHeader`. */
  readonly signedBefore: string;
  readonly timestampHeader?: string | undefined;
}

/** A scheme that is one HMAC: `formOf` says which, from the settings of a source or without them. */
export function hmacScheme(
  formOf: (settings: Parameters<Scheme['verify']>[2]) => HmacForm,
  rest: Pick<Scheme, 'deliveryIdFrom' | 'typeFrom' | 'answersChallenge'> = {},
): Scheme {
  return {
    ...rest,
    secretForm: TEXT_SECRET_FORM,
    readKey: textKey,
    verify: (delivery, keys, settings) => verifyHmac(formOf(settings), delivery, keys),
    sign({ key, body, timestamp, deliveryId }, settings) {
      const form = formOf(settings);
      const { header, prefix, timestampHeader } = form;
      const before = form.signedBefore.replace('{timestamp}', String(timestamp));
      const idHeader = rest.deliveryIdFrom?.startsWith('header:') === true ? rest.deliveryIdFrom.slice(7) : undefined;
      return {
        [header]: prefix + digestOf(form, key.key, before, body),
        ...(timestampHeader === undefined ? {} : { [timestampHeader]: String(timestamp) }),
        ...(idHeader === undefined ? {} : { [idHeader]: deliveryId }),
      };
    },
  };
}

function verifyHmac(form: HmacForm, { header, body }: RawDelivery, keys: readonly SchemeKey[]): Vouched | undefined {
  const given = header(form.header);
  if (given === undefined || given.length > MAX_SIGNATURE_LENGTH || !given.startsWith(form.prefix)) return undefined;
  const signature = given.slice(form.prefix.length);
  const { timestampHeader } = form;
  const timestamp = timestampHeader === undefined ? undefined : timestampOf(header(timestampHeader));
  if (timestampHeader !== undefined && timestamp === undefined) return undefined;
  const before =
    timestamp === undefined ? form.signedBefore : form.signedBefore.replace('{timestamp}', String(timestamp));
  for (const { id, key } of keys) {
    if (isSameText(digestOf(form, key, before, body), signature)) {
      return { keyId: id, ...(timestamp === undefined ? {} : { timestamp }) };
    }
  }
  return undefined;
}

/** Text is compared with text: several texts of base64 decode to the same bytes, and one of them is the signature. */
function digestOf({ algorithm, encoding }: HmacForm, key: KeyObject, before: string, body: Buffer): string {
  const hmac = createHmac(algorithm, key);
  if (before !== '') hmac.update(before);
  return hmac.update(body).digest(encoding);
}
