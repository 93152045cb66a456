import { Bytes, sha256, type JsonValue } from '@sealgate/json';
import { ed25519Key } from '@sealgate/merkle';
import { startReport } from './report.ts';
import type { Report } from './report.ts';
import { isObject, numberAt, objectAt, rootObject, stringAt } from './shape.ts';
import type { Place } from './shape.ts';

/** A trusted public key of a sender, and its name in reports. */
export interface SenderKey {
  readonly text: string;
  readonly key: ReturnType<typeof ed25519Key>;
}

interface DeliveryInput {
  /** Name of the file with the record or its receipt, for the report. */
  readonly name: string;
  readonly value: JsonValue;
  /** The delivery as the sender sent it. */
  readonly body: Uint8Array;
  readonly keys: readonly SenderKey[];
}

const PUBLIC_PREFIX = 'whpk_';
const PUBLIC_BYTES = 32;
const SIGNATURE_PREFIX = 'v1a,';
const SIGNATURE_BYTES = 64;

/** `whpk_` and an Ed25519 public key in base64 (Standard Webhooks); undefined for other texts. */
export function senderKey(text: string): SenderKey | undefined {
  const bytes = text.startsWith(PUBLIC_PREFIX) ? exactBytes(text.slice(PUBLIC_PREFIX.length)) : undefined;
  if (bytes?.length !== PUBLIC_BYTES) return undefined;
  return { text, key: ed25519Key(bytes) };
}

/**
 * Checks that a record was made from this delivery, and that a pinned key of the sender signed it: Standard Webhooks
 * `v1a`. A signature by a shared secret can only be checked by its two holders.
 */
export function checkDelivery({ name, value, body, keys }: DeliveryInput): Report {
  const report = startReport();
  const extra = extraIn(rootObject(name, value));
  report.equal('body', {
    ok: 'These are the bytes that were delivered.',
    failed: 'These are not the bytes that were delivered.',
    where: `${extra.where}/bodySha256`,
    expected: stringAt(extra, 'bodySha256'),
    found: sha256(body).toString('hex'),
  });
  if (stringAt(extra, 'vouchedBy') !== 'public-key') {
    const detail = 'A shared secret vouched for the delivery: only its sender and the gateway can tell.';
    report.failed('signature', { detail, where: `${extra.where}/vouchedBy`, expected: 'public-key' });
    return report.finish('');
  }
  const deliveryId = stringAt(extra, 'deliveryId');
  const signed = Bytes.concat([Bytes.from(`${deliveryId}.${numberAt(extra, 'timestamp')}.`), body]);
  report.equal('signed bytes', {
    ok: 'Id, time and bytes are what was signed.',
    failed: 'Id, time and bytes are not what was signed.',
    where: `${extra.where}/signedSha256`,
    expected: stringAt(extra, 'signedSha256'),
    found: sha256(signed).toString('hex'),
  });
  const by = keys.find((one) => isSigned(one, signed, stringAt(extra, 'signature')));
  if (by === undefined) {
    const expected = keys.map(({ text }) => text).join(', ');
    report.failed('signature', { detail: 'No pinned key signed this.', where: `${extra.where}/signature`, expected });
  } else report.ok('signature', `Signed by the pinned key ${by.text}.`);
  report.note('That the record is in the ledger is shown by its receipt: sealgate-verify receipt.');
  const when = new Date(numberAt(extra, 'timestamp') * 1000).toISOString();
  return report.finish(`The owner of the pinned key sent this as the delivery ${deliveryId}, signed at ${when}.`);
}

/** In a record, or in the receipt of one. */
function extraIn(root: Place): Place {
  const { receipt } = root.object;
  return objectAt(isObject(receipt) ? objectAt(root, 'receipt') : root, 'extra');
}

function isSigned({ key }: SenderKey, signed: Uint8Array, text: string): boolean {
  const signature = text.startsWith(SIGNATURE_PREFIX) ? exactBytes(text.slice(SIGNATURE_PREFIX.length)) : undefined;
  return signature?.length === SIGNATURE_BYTES && key.verify(signed, signature);
}

/** Padded base64 in canonical form. */
function exactBytes(text: string): Bytes | undefined {
  const bytes = Bytes.from(text, 'base64');
  return bytes.toString('base64') === text ? bytes : undefined;
}
