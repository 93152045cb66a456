import { createHash } from 'node:crypto';
import type { common } from '@hyperledger/fabric-protos';

const SEQUENCE = 0x30;
const INTEGER = 0x02;
const OCTET_STRING = 0x04;

/** The hash of a block, by which the next block names it: SHA-256 over the header in DER. Lower hex. */
export function blockHash(header: InstanceType<typeof common.BlockHeader>): string {
  const der = tagged(
    SEQUENCE,
    Buffer.concat([
      tagged(INTEGER, integer(header.getNumber())),
      tagged(OCTET_STRING, header.getPreviousHash_asU8()),
      tagged(OCTET_STRING, header.getDataHash_asU8()),
    ]),
  );
  return createHash('sha256').update(der).digest('hex');
}

/** Non-negative, in the shortest form. */
function integer(value: number): Buffer {
  const digits = value.toString(16);
  const bytes = Buffer.from(digits.length % 2 === 0 ? digits : `0${digits}`, 'hex');
  return bytes[0]! > 0x7f ? Buffer.concat([Buffer.alloc(1), bytes]) : bytes;
}

/** Headers are shorter than 128 bytes: two hashes and a number. */
function tagged(tag: number, content: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from([tag, content.length]), content]);
}
