import type { KeptDelivery } from '../domain/refusals.ts';

const LENGTH_BYTES = 4;

/** The length of the headers, the headers as JSON, the body. */
export function packed({ headers, body }: KeptDelivery): Buffer {
  const head = Buffer.from(JSON.stringify(headers));
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32BE(head.length);
  return Buffer.concat([length, head, body]);
}

export const packedBytes = ({ headers, body }: KeptDelivery): number => body.length + JSON.stringify(headers).length;

export function unpacked(bytes: Buffer): KeptDelivery {
  const bodyAt = LENGTH_BYTES + bytes.readUInt32BE();
  const headers = JSON.parse(bytes.toString('utf8', LENGTH_BYTES, bodyAt)) as KeptDelivery['headers'];
  return { headers, body: bytes.subarray(bodyAt) };
}
