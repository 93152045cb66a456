import { hash } from 'node:crypto';
import { timeOrderedBytes, type KeyedHasher } from '@sealgate/auth';
import { AppError } from '@sealgate/errors';
import { claimOf, parseIdempotencyKey, type Claim, type InFlight } from '@sealgate/idempotency';
import type { LedgerAppender, RecordReceipt, UnitGuard } from '@sealgate/ledger-port';
import type { IngestCaller } from './caller.ts';
import type { KeyGrants } from './key.ts';
import type { CanonicalRecord } from './read-submission.ts';
import { writeRecords, type RecordIds, type WriteOutcome } from './write-records.ts';

export interface WriteRequest {
  readonly caller: IngestCaller;
  readonly requestId: string;
  readonly records: readonly CanonicalRecord[];
  readonly strippedFields: number;
  /** The raw values of the Idempotency-Key header. */
  readonly idempotencyKeys: readonly string[];
  readonly path: string;
  /** The body after decompression. */
  readonly rawBody: Buffer;
  /** What the write must confirm because the caller came from the cache; undefined where the caller was looked up. */
  readonly guard: UnitGuard | undefined;
  /** Charges the rate limits; rejects with RATE_LIMITED. */
  charge(): Promise<void>;
  /** Looks the caller up before an answer that no transaction has confirmed the guard for; rejects a refused one. */
  confirmCaller(): Promise<void>;
}

interface Answer {
  readonly body: string;
  readonly replayed: boolean;
  readonly eventId: string;
  readonly transactionId: string | undefined;
  /** Whether the transaction of the records has confirmed the guard. */
  readonly confirmed: boolean;
}

export type AnswerWrite = (request: WriteRequest) => Promise<Answer>;

interface AnswerWritePorts {
  readonly ledger: LedgerAppender;
  readonly inFlight: InFlight<Answer>;
  /** Makes request fingerprints. */
  readonly fingerprints: KeyedHasher;
  /** Makes the seeds of record ids. */
  readonly recordIds: KeyedHasher;
  /** Ids of records sent without Idempotency-Key. */
  readonly freshIds: RecordIds;
  readonly newId: (prefix: string) => string;
  /** Counts answers. */
  readonly accepted: { inc(): void };
  /** Counts the answers that are replays. */
  readonly replayed: { inc(): void };
  /** Called with the id of a key that the transaction of the records has confirmed. */
  readonly touchKey: (keyId: string) => void;
}

/**
 * Answers one write: types and channels, Idempotency-Key, limits, idempotency, then the ledger.
 * With an Idempotency-Key the same request always gets the same answer, because the claim is a row in the transaction
 * of the records. The in-process record of running requests only saves time.
 *
 * @throws AppError ASSET_TYPE_NOT_ALLOWED, UNKNOWN_CHANNEL, INVALID_IDEMPOTENCY_KEY, RATE_LIMITED; and what
 * `writeRecords` throws.
 */
export function answerWrite(ports: AnswerWritePorts): AnswerWrite {
  return async (request) => {
    const { caller, records } = request;
    if (!records.every(({ type }) => mayWrite(caller.grants, type)))
      throw new AppError('ASSET_TYPE_NOT_ALLOWED', 'The key may not write records of a type that is in the request.');
    checkChannels(records, caller.channels);
    const key = parseIdempotencyKey(request.idempotencyKeys);
    const claim = key === undefined ? undefined : claimFor(ports, request, key);
    await request.charge();
    const answer = claim === undefined ? await write(ports, request, undefined) : await once(ports, request, claim);
    if (request.guard !== undefined && !answer.confirmed) await request.confirmCaller();
    ports.accepted.inc();
    if (answer.replayed) ports.replayed.inc();
    if (answer.confirmed) ports.touchKey(caller.keyId);
    return answer;
  };
}

/** Whether a key or source may write records of this type. */
export function mayWrite({ allowedAssetTypes }: KeyGrants, type: string): boolean {
  return allowedAssetTypes === undefined || allowedAssetTypes.includes(type);
}

/** @throws AppError UNKNOWN_CHANNEL when a record names a channel that the network does not have. */
export function checkChannels(records: readonly CanonicalRecord[], channels: readonly string[]): void {
  const isKnown = records.every(({ targetChannels = [] }) => targetChannels.every((name) => channels.includes(name)));
  if (!isKnown) throw new AppError('UNKNOWN_CHANNEL', 'The network does not have every channel that is named.');
}

interface KeyedClaim extends Claim {
  readonly ids: RecordIds;
  /** The ids derived by every server secret. */
  readonly otherIds: () => readonly RecordIds[];
}

function claimFor(ports: AnswerWritePorts, { caller, path, rawBody }: WriteRequest, key: string): KeyedClaim {
  const scope = [caller.networkId, caller.familyId];
  const claim = claimOf({ hasher: ports.fingerprints, scope, key, method: 'POST', path, body: rawBody });
  const otherIds = () => ports.recordIds.hashAll(...scope, key).map(({ digest }) => derivedIds(digest));
  return { ...claim, ids: derivedIds(ports.recordIds.hash(...scope, key).digest), otherIds };
}

async function once(ports: AnswerWritePorts, request: WriteRequest, claim: KeyedClaim): Promise<Answer> {
  const name = claim.claim.toString('latin1');
  const { value, joined } = await ports.inFlight.run(name, claim.fingerprint, () => write(ports, request, claim));
  return joined ? { ...value, replayed: true, confirmed: false } : value;
}

async function write(ports: AnswerWritePorts, request: WriteRequest, claim: KeyedClaim | undefined): Promise<Answer> {
  const { caller, requestId, records, strippedFields, guard } = request;
  const outcome = await writeRecords(ports.ledger, {
    networkId: caller.networkId,
    channels: caller.channels,
    keyId: caller.keyId,
    requestId,
    eventId: ports.newId('evt_'),
    records,
    strippedFields,
    ids: claim === undefined ? ports.freshIds : claim.ids,
    ...(claim === undefined ? {} : { otherIds: claim.otherIds }),
    claim,
    guard,
  });
  const { replayed, eventId, transactionIds } = outcome;
  const [transactionId] = transactionIds;
  const confirmed = guard !== undefined && !replayed;
  return { body: renderAnswer(outcome), replayed, eventId, transactionId, confirmed };
}

/**
 * The answer of a write as JSON text, members in the documented order. Rendered here rather than by JSON.stringify
 * because all values but the ids are hex, numbers and names that need no escaping; a test compares the two. A replay
 * sends the same bytes.
 */
export function renderAnswer(outcome: WriteOutcome): string {
  const { recordCount: total } = outcome;
  const transactionIds = outcome.transactionIds.map((id) => `"${id}"`).join(',');
  const records = outcome.records.map(renderReceipt).join(',');
  return (
    `{"transactionIds":[${transactionIds}],"summary":{"total":${total},"succeeded":${total},"failed":0},` +
    `"eventId":"${outcome.eventId}","records":[${records}],"strippedFields":${outcome.strippedFields}}`
  );
}

function renderReceipt({ id, transactionId, channel, index, epoch, leafHash, existing }: RecordReceipt): string {
  const of = epoch === undefined ? '' : `,"epoch":${epoch}`;
  const place = index === undefined ? '' : `,"index":${index}${of},"leafHash":"${leafHash}"`;
  return `{"id":${JSON.stringify(id)},"transactionId":"${transactionId}","channel":"${channel}"${place}${existing ? ',"existing":true' : ''}}`;
}

/** The answer of a delivery. */
export function renderDelivery({ eventId, records }: Pick<WriteOutcome, 'eventId' | 'records'>): string {
  return `{"eventId":"${eventId}","records":[${records.map(renderReceipt).join(',')}]}`;
}

/** The answer of a ping. */
export function renderPing(eventId: string): string {
  return `{"ping":true,"transactionIds":[],"summary":{"total":0,"succeeded":0,"failed":0},"eventId":"${eventId}"}`;
}

/** The possible first digits of the variant. */
const VARIANT = '89ab';
const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

/** The text form of 16 bytes with this version and the RFC 9562 variant. */
export function formatUuid(bytes: Uint8Array, version: 7 | 8): string {
  let text = '';
  for (let at = 0; at < 16; at += 1) {
    let byte = bytes[at]!;
    if (at === 6) byte = (byte & 0x0f) | (version << 4);
    if (at === 8) byte = (byte & 0x3f) | 0x80;
    if (at === 4 || at === 6 || at === 8 || at === 10) text += '-';
    text += HEX[byte]!;
  }
  return text;
}

/**
 * UUIDv8 (RFC 9562 section 5.8) from SHA-256 over a seed and the position. The seed is a keyed hash of network, key
 * family and Idempotency-Key: nobody else can guess or occupy the ids, and the same request gets the same ids even
 * after all caches are lost. One hash yields two ids.
 */
export function derivedIds(seed: Buffer): RecordIds {
  const input = Buffer.alloc(seed.length + 4);
  input.set(seed);
  let made = { pair: -1, digits: '' };
  return (position) => {
    const pair = position >> 1;
    if (made.pair !== pair) {
      input.writeUInt32BE(pair, seed.length);
      made = { pair, digits: hash('sha256', input) };
    }
    return uuidOfDigits(made.digits, (position & 1) * 32);
  };
}

/** The text form of 32 hexadecimal digits with version 8 and the RFC 9562 variant. */
function uuidOfDigits(digits: string, from: number): string {
  const part = (start: number, end: number) => digits.slice(from + start, from + end);
  const unit = digits.charCodeAt(from + 16);
  // The two low bits of the digit: a is 0x61 and stands for ten.
  const variant = VARIANT.charAt((unit > 0x39 ? unit + 1 : unit) & 3);
  return `${part(0, 8)}-${part(8, 12)}-8${part(13, 16)}-${variant}${part(17, 20)}-${part(20, 32)}`;
}

/** UUIDv7 (RFC 9562 section 5.7): ordered by time, unguessable. */
export function freshUuids(now: () => number, random: (bytes: number) => Uint8Array): RecordIds {
  const next = timeOrderedBytes(now, random);
  return () => formatUuid(next(), 7);
}
