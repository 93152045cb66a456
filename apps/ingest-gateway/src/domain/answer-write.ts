import type { LedgerAppender, RecordReceipt, UnitGuard } from '@sealgate/ledger-port';
import type { KeyedHasher } from '@sealgate/auth';
import { claimOf, parseIdempotencyKey, type Claim, type InFlight } from '@sealgate/idempotency';
import { writeRecords, type WriteOutcome } from './write-records.ts';
import type { IngestCaller } from './caller.ts';
import type { CanonicalRecord } from './read-submission.ts';
import { derivedIds, type RecordIds } from './record-ids.ts';

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

export interface Answer {
  readonly body: string;
  readonly replayed: boolean;
  /** Whether the transaction of the records has confirmed the guard. */
  readonly confirmed: boolean;
}

export type AnswerWrite = (request: WriteRequest) => Promise<Answer>;

export interface AnswerWritePorts {
  readonly ledger: LedgerAppender;
  readonly inFlight: InFlight<Answer>;
  /** Makes request fingerprints. */
  readonly fingerprints: KeyedHasher;
  /** Makes the seeds of record ids. */
  readonly recordIds: KeyedHasher;
  /** Ids of records sent without Idempotency-Key. */
  readonly freshIds: RecordIds;
  readonly newEventId: () => string;
  /** Called once for each answer. */
  readonly onAnswer: (answer: Answer, request: WriteRequest) => void;
}

/**
 * Answers one write: limits, then idempotency, then the ledger.
 * With an Idempotency-Key the same request always gets the same answer, because the claim is a row in the transaction
 * of the records. The in-process record of running requests only saves time.
 *
 * Throws what `writeRecords` throws.
 */
export function answerWrite(ports: AnswerWritePorts): AnswerWrite {
  return async (request) => {
    const key = parseIdempotencyKey(request.idempotencyKeys);
    const claim = key === undefined ? undefined : claimFor(ports, request, key);
    await request.charge();
    const answer = claim === undefined ? await write(ports, request, undefined) : await once(ports, request, claim);
    if (request.guard !== undefined && !answer.confirmed) await request.confirmCaller();
    ports.onAnswer(answer, request);
    return answer;
  };
}

interface KeyedClaim extends Claim {
  /** The seed of the record ids. */
  readonly seed: Buffer;
  /** The seeds by every server secret. */
  readonly seeds: () => Buffer[];
}

function claimFor(ports: AnswerWritePorts, { caller, path, rawBody }: WriteRequest, key: string): KeyedClaim {
  const scope = [caller.networkId, caller.familyId];
  const claim = claimOf({ hasher: ports.fingerprints, scope, key, method: 'POST', path, body: rawBody });
  const seeds = () => ports.recordIds.hashAll(...scope, key).map(({ digest }) => digest);
  return { ...claim, seed: ports.recordIds.hash(...scope, key).digest, seeds };
}

async function once(ports: AnswerWritePorts, request: WriteRequest, claim: KeyedClaim): Promise<Answer> {
  const name = claim.claim.toString('latin1');
  const { value, joined } = await ports.inFlight.run(name, claim.fingerprint, () => write(ports, request, claim));
  return joined ? { body: value.body, replayed: true, confirmed: false } : value;
}

async function write(ports: AnswerWritePorts, request: WriteRequest, claim: KeyedClaim | undefined): Promise<Answer> {
  const { caller, requestId, records, strippedFields, guard } = request;
  const outcome = await writeRecords(ports.ledger, {
    networkId: caller.networkId,
    channels: caller.channels,
    keyId: caller.keyId,
    requestId,
    eventId: ports.newEventId(),
    records,
    strippedFields,
    ids: claim === undefined ? ports.freshIds : derivedIds(claim.seed),
    ...(claim === undefined ? {} : { otherIds: () => claim.seeds().map(derivedIds) }),
    claim,
    guard,
  });
  const { replayed } = outcome;
  return { body: renderAnswer(outcome), replayed, confirmed: guard !== undefined && !replayed };
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
