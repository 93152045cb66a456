import { sha256 } from '@sealgate/json';
import type { AppendUnit, NewRecord } from '@sealgate/ledger-port';
import { transactionIdOf } from './transaction-id.ts';

/** A unit with everything the log needs worked out: salts, hashes, transaction id. Sent again, it is the same bytes. */
export interface PreparedUnit {
  readonly unit: AppendUnit;
  readonly nonce: Buffer;
  readonly transactionId: Buffer;
  readonly transactionIdHex: string;
  readonly atMs: number;
  readonly salts: readonly Buffer[];
  readonly dataHashes: readonly Buffer[];
  readonly leafHashes: readonly Buffer[];
  /** About how many bytes the unit puts into a call. */
  readonly bytes: number;
}

const SALT_BYTES = 32;
const NONCE_BYTES = 16;
/** What a record puts into a call besides its texts. */
const RECORD_OVERHEAD_BYTES = 160;

let scratch = Buffer.allocUnsafeSlow(65_536);

function scratchOf(bytes: number): Buffer {
  if (scratch.length < bytes) scratch = Buffer.allocUnsafeSlow(bytes * 2);
  return scratch;
}

/** SHA-256(salt ‖ JCS({data, extra})); data and extra are canonical already, and `data` sorts before `extra`. */
function hashContent(salt: Buffer, record: NewRecord): Buffer {
  const text = `{"data":${record.data},"extra":${record.extra ?? 'null'}}`;
  const buffer = scratchOf(SALT_BYTES + text.length * 3);
  buffer.set(salt, 0);
  const end = SALT_BYTES + buffer.write(text, SALT_BYTES, 'utf8');
  return sha256(buffer.subarray(0, end));
}

/** SHA-256(0x00 ‖ leaf), RFC 6962 section 2.1. */
function hashLeaf(leaf: string): Buffer {
  const buffer = scratchOf(1 + leaf.length * 3);
  buffer[0] = 0;
  const end = 1 + buffer.write(leaf, 1, 'utf8');
  return sha256(buffer.subarray(0, end));
}

/**
 * Works out salts and hashes of a unit.
 * The leaf is JCS({v: 1, network, channel, id, type, owner, dataHash, transactionId, at}), written here member by
 * member in JCS order because the parts that a unit's records share are made once; `receiptLeaf` of
 * `@sealgate/envelope` is what a verifier uses, and a test holds the two together.
 */
export function prepareUnit(unit: AppendUnit, atMs: number, random: (bytes: number) => Buffer): PreparedUnit {
  const nonce = random(NONCE_BYTES);
  const transactionId = transactionIdOf({
    nonce,
    claim: unit.claim?.claim ?? null,
    fingerprint: unit.claim?.fingerprint ?? null,
    channel: unit.channel,
    note: unit.note,
    recordIds: unit.records.map((record) => record.id),
  });
  const transactionIdHex = transactionId.toString('hex');
  const head = `{"at":"${new Date(atMs).toISOString()}","channel":${JSON.stringify(unit.channel)},"dataHash":"`;
  const network = `,"network":${JSON.stringify(unit.network)},"owner":`;
  const transaction = `,"transactionId":"${transactionIdHex}","type":`;
  const salts: Buffer[] = [];
  const dataHashes: Buffer[] = [];
  const leafHashes: Buffer[] = [];
  let bytes = unit.note.length + RECORD_OVERHEAD_BYTES;
  for (const record of unit.records) {
    const salt = random(SALT_BYTES);
    const dataHash = hashContent(salt, record);
    const id = JSON.stringify(record.id);
    const owner = record.owner === null ? 'null' : JSON.stringify(record.owner);
    const leaf = `${head}${dataHash.toString('hex')}","id":${id}${network}${owner}${transaction}${JSON.stringify(record.type)},"v":1}`;
    salts.push(salt);
    dataHashes.push(dataHash);
    leafHashes.push(hashLeaf(leaf));
    bytes += RECORD_OVERHEAD_BYTES + record.data.length + (record.extra?.length ?? 0) + record.id.length;
  }
  return { unit, nonce, transactionId, transactionIdHex, atMs, salts, dataHashes, leafHashes, bytes };
}
