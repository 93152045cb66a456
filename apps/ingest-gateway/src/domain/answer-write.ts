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
  /** The values of the Idempotency-Key header as they came. */
  readonly idempotencyKeys: readonly string[];
  readonly path: string;
  /** The bytes of the body after its content encoding was undone. */
  readonly rawBody: Buffer;
  /** What the write is to confirm, since the caller was not looked up for this request; undefined where he was. */
  readonly guard: UnitGuard | undefined;
  /** Takes the cost from the limits; rejects with RATE_LIMITED. */
  charge(): Promise<void>;
  /** Called before an answer that no transaction has confirmed the guard for; rejects where the caller is to be refused now. */
  confirmCaller(): Promise<void>;
}

export interface Answer {
  readonly body: string;
  readonly replayed: boolean;
  /** The transaction of the records has confirmed the guard. */
  readonly confirmed: boolean;
}

export type AnswerWrite = (request: WriteRequest) => Promise<Answer>;

export interface AnswerWritePorts {
  readonly ledger: LedgerAppender;
  readonly inFlight: InFlight<Answer>;
  /** Makes fingerprints. */
  readonly fingerprints: KeyedHasher;
  /** Makes the seeds of record ids. */
  readonly recordIds: KeyedHasher;
  /** Ids of records sent without Idempotency-Key. */
  readonly freshIds: RecordIds;
  readonly newEventId: () => string;
  /** Told once for each answer that was given. */
  readonly onAnswer: (answer: Answer, request: WriteRequest) => void;
}

/**
 * Answers one write: limits, then idempotency, then the ledger.
 * With a key the same request is answered the same, whoever asks the ledger first and whatever was lost meanwhile: the
 * claim is a row in the transaction of the records. What runs in this process is remembered to save time, and no more.
 *
 * It throws what `writeRecords` throws.
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
  /** What the ids of the records are made from. */
  readonly seed: Buffer;
  /** The same by every secret. */
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
 * The answer of a write as JSON text, in the documented order of members. Rendered here and not by JSON.stringify
 * because all but the ids is hex, numbers and names that need no escaping; a test holds the two together. A replay
 * sends these same bytes again.
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

/** The answer of a delivery: what its sender may want to look up. */
export function renderDelivery({ eventId, records }: Pick<WriteOutcome, 'eventId' | 'records'>): string {
  return `{"eventId":"${eventId}","records":[${records.map(renderReceipt).join(',')}]}`;
}

/** The answer of a ping. */
export function renderPing(eventId: string): string {
  return `{"ping":true,"transactionIds":[],"summary":{"total":0,"succeeded":0,"failed":0},"eventId":"${eventId}"}`;
}
