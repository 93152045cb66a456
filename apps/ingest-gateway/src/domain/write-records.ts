import { AppError } from '@sealgate/errors';
import { sha256 } from '@sealgate/json';
import {
  ChannelHaltedError,
  ClaimInFlightError,
  LedgerOverloadedError,
  LedgerUnavailableError,
  OutcomeUnknownError,
  type AppendUnit,
  type LedgerAppender,
  type NewRecord,
  type RecordReceipt,
  type UnitClaim,
  type UnitEvent,
  type UnitGuard,
  type UnitResult,
} from '@sealgate/ledger-port';
import type { CanonicalRecord } from './read-submission.ts';

/** Assigns ids to the records of one request, by position. */
export type RecordIds = (position: number) => string;

/** A write that passed all checks. */
export interface WriteOrder {
  readonly networkId: string;
  /** The network's channels; the first is the default. */
  readonly channels: readonly string[];
  readonly keyId: string;
  readonly requestId: string;
  readonly eventId: string;
  readonly records: readonly CanonicalRecord[];
  /** Number of sensitive members removed from them. */
  readonly strippedFields: number;
  readonly ids: RecordIds;
  /** The ids that other server secrets of this process would have derived. */
  readonly otherIds?: () => readonly RecordIds[];
  readonly claim: UnitClaim | undefined;
  /** The sender's id of a delivery. */
  readonly deliveryId?: string | undefined;
  /** What the first transaction that writes must confirm; absent where the caller was looked up for this request. */
  readonly guard?: UnitGuard | undefined;
}

/** The outcome of a write. `records` is in record order, then by channel. */
export interface WriteOutcome {
  readonly eventId: string;
  readonly transactionIds: readonly string[];
  readonly recordCount: number;
  readonly records: readonly RecordReceipt[];
  readonly strippedFields: number;
  /** True: nothing was written now; this is the answer of the first request with this key. */
  readonly replayed: boolean;
}

interface NamedRecord extends NewRecord {
  readonly channels: readonly string[];
}

type Appended = Extract<UnitResult, { records: unknown }>;

/**
 * Writes the records of one request, one transaction per channel, in name order. The driver behind the port is chosen
 * in `open-ledger.ts`.
 *
 * @throws StaleGuardError: nothing was written;
 * AppError IDEMPOTENCY_KEY_REUSED, IDEMPOTENCY_IN_PROGRESS, RECORD_CONFLICT, LEDGER_UNAVAILABLE, OVERLOADED: nothing
 * was written;
 * OUTCOME_UNKNOWN, with `eventId` and `transactionIds`: some may be written, and the same request completes it.
 */
export async function writeRecords(ledger: LedgerAppender, order: WriteOrder): Promise<WriteOutcome> {
  let records = nameRecords(order, order.ids);
  const channels = channelsOf(records);
  const types = [...new Set(records.map((record) => record.type))];
  const { eventId, keyId, requestId, strippedFields, deliveryId } = order;
  const ours: UnitEvent = { eventId, strippedFields, units: channels.length, keyId, requestId, types, deliveryId };
  const unitsOf = (named: readonly NamedRecord[]) =>
    channels.map((channel, position) => {
      const inChannel = channels.length === 1 ? named : named.filter((record) => record.channels.includes(channel));
      return unitOf(order, channel, { event: ours, first: position === 0, records: inChannel });
    });
  let units = unitsOf(records);
  if (units.length > 1) await refuseConflicts(ledger, units);
  let event = ours;
  const done: Appended[] = [];
  for (let at = 0; at < units.length; at += 1) {
    // Only together with its own event: two attempts under one event are two transactions.
    const nonce = event === ours ? nonceOf(eventId) : undefined;
    // Once a transaction has confirmed the guard, the request is completed without it.
    const guard = isAllReplayed(done) ? order.guard : undefined;
    const begun = event === ours ? undefined : { note: writeNote(event), event };
    const unit = { ...units[at]!, ...begun, ...(nonce && { nonce }), ...(guard && { guard }) };
    const result = await append(ledger, unit, done);
    done.push(result);
    // Begun under an earlier server secret: one record has the same id in all of its channels.
    if (at === 0 && units.length > 1 && result.outcome === 'replayed') {
      const named = (order.otherIds?.() ?? []).map((ids) => nameRecords(order, ids));
      records = named.find((others) => isNamedAs(unitsOf(others)[0]!, result)) ?? records;
      units = unitsOf(records);
    }
    // The remaining transactions use the event of the replayed one, so a request has one event.
    if (result.note !== unit.note) event = { ...ours, ...readNote(result.note) };
  }
  return outcomeOf({ records, channels, event }, done);
}

/** Refuses a request of several transactions for a conflict in any of them before the first is written. */
async function refuseConflicts(ledger: LedgerAppender, units: readonly AppendUnit[]): Promise<void> {
  // The claim of the first transaction tells whether the request was made before.
  const claim = units[0]?.claim;
  for (const unit of units) {
    const asked = claim === undefined ? unit : { ...unit, claim };
    const id = await ledger.findConflict(asked).catch((error: unknown) => {
      throw refusalOf(error, unit.note, []);
    });
    if (id !== undefined) throw conflict();
  }
}

function conflict(): AppError {
  return new AppError('RECORD_CONFLICT', 'An id of the request holds other content already.');
}

/** The channels of a request in name order. */
function channelsOf(records: readonly NamedRecord[]): string[] {
  const channels = new Set<string>();
  for (const record of records) for (const channel of record.channels) channels.add(channel);
  return [...channels].sort();
}

const isAllReplayed = (done: readonly Appended[]): boolean => done.every(({ outcome }) => outcome === 'replayed');

const isNamedAs = (unit: AppendUnit, { records }: Appended): boolean =>
  unit.records.every(({ id }, position) => id === records[position]?.id);

function nameRecords(order: WriteOrder, ids: RecordIds): NamedRecord[] {
  const byDefault = order.channels.slice(0, 1);
  return order.records.map(({ id, type, owner, data, extra, targetChannels }, position): NamedRecord => ({
    id: id ?? ids(position),
    type,
    owner,
    data,
    extra,
    channels: targetChannels ?? byDefault,
  }));
}

function unitOf(
  order: WriteOrder,
  channel: string,
  { event, first, records }: { event: UnitEvent; first: boolean; records: readonly NewRecord[] },
): AppendUnit {
  const place = { network: order.networkId, channel: `${order.networkId}.${channel}` };
  const unit = { ...place, note: writeNote(event), event, records };
  if (order.claim === undefined) return unit;
  return { ...unit, claim: first ? order.claim : claimOfChannel(order.claim, channel) };
}

/** Each further transaction has a claim of its own, derived from the request's claim and the channel's name. */
function claimOfChannel({ claim, fingerprint, acceptable }: UnitClaim, channel: string): UnitClaim {
  return { claim: sha256(Buffer.concat([claim, Buffer.from(channel)])), fingerprint, acceptable };
}

/** Appends one transaction. After the first of the request is written, a failure of a later one is OUTCOME_UNKNOWN. */
async function append(ledger: LedgerAppender, unit: AppendUnit, done: readonly Appended[]): Promise<Appended> {
  let result: UnitResult;
  try {
    result = await ledger.append(unit);
  } catch (error) {
    throw refusalOf(error, unit.note, done);
  }
  if (result.outcome === 'reused') {
    throw new AppError('IDEMPOTENCY_KEY_REUSED', 'The Idempotency-Key was used before with another request.');
  }
  if (result.outcome === 'conflict') {
    // A conflict with another request after a transaction of this one was written: "nothing was written" would be
    // false.
    throw done.length === 0 ? conflict() : outcomeUnknown(unit.note, idsOf(done));
  }
  return result;
}

const RETRY_AFTER_SECONDS = 1;

const idsOf = (done: readonly Appended[]): string[] => done.map(({ transactionId }) => transactionId);

function outcomeUnknown(note: string, transactionIds: readonly string[], cause?: unknown): AppError {
  const detail =
    'The ledger did not say in time whether everything was written; send the same request again to learn it.';
  return new AppError('OUTCOME_UNKNOWN', detail, {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
    members: { eventId: readNote(note).eventId, transactionIds },
    cause,
  });
}

function refusalOf(error: unknown, note: string, done: readonly Appended[]): unknown {
  if (error instanceof OutcomeUnknownError) return outcomeUnknown(note, [...idsOf(done), error.transactionId], error);
  const isOutage = error instanceof LedgerUnavailableError || error instanceof LedgerOverloadedError;
  if (isOutage && done.length > 0) return outcomeUnknown(note, idsOf(done), error);
  if (error instanceof ClaimInFlightError) {
    return new AppError('IDEMPOTENCY_IN_PROGRESS', 'Another request with this key is still running.', {
      retryAfterSeconds: RETRY_AFTER_SECONDS,
      cause: error,
    });
  }
  if (error instanceof LedgerOverloadedError) {
    return new AppError('OVERLOADED', 'More is waiting to be written than the gateway holds.', {
      retryAfterSeconds: RETRY_AFTER_SECONDS,
      cause: error,
    });
  }
  if (error instanceof LedgerUnavailableError) {
    const isHalted = error instanceof ChannelHaltedError;
    const detail = isHalted ? error.message : 'The ledger cannot be reached; this attempt wrote nothing.';
    return new AppError('LEDGER_UNAVAILABLE', detail, {
      retryAfterSeconds: RETRY_AFTER_SECONDS,
      cause: error,
    });
  }
  return error;
}

interface Order {
  readonly records: readonly NamedRecord[];
  readonly channels: readonly string[];
}

function outcomeOf(order: Order & { readonly event: UnitEvent }, done: readonly Appended[]): WriteOutcome {
  const { eventId, strippedFields } = order.event;
  const records = done.length === 1 ? done[0]!.records : inRecordOrder(order, done);
  const transactionIds = new Set<string>();
  for (const { transactionId } of records) transactionIds.add(transactionId);
  return {
    eventId,
    strippedFields,
    recordCount: order.records.length,
    records,
    transactionIds: [...transactionIds],
    replayed: isAllReplayed(done),
  };
}

/** Merges the receipts of several transactions into one list: by record, then by channel name. */
function inRecordOrder({ records, channels }: Order, done: readonly Appended[]): RecordReceipt[] {
  const next = channels.map(() => 0);
  return records.flatMap((record) =>
    channels.flatMap((channel, unit) =>
      record.channels.includes(channel) ? [done[unit]!.records[next[unit]!++]!] : [],
    ),
  );
}

/** What a replay must know of a request: the note of its units, as a JSON array in this order. */
type UnitNote = Pick<UnitEvent, 'eventId' | 'units' | 'strippedFields'>;

export const writeNote = ({ eventId, units, strippedFields }: UnitNote): string =>
  JSON.stringify([eventId, units, strippedFields]);

function readNote(note: string): UnitNote {
  const [eventId, units, strippedFields] = JSON.parse(note) as [string, number, number];
  return { eventId, units, strippedFields };
}

const NONCE_BYTES = 16;

/** The bytes of an event id made here, ten of them unguessable; the ledger stores them once, with the note. */
function nonceOf(eventId: string): Buffer | undefined {
  const nonce = Buffer.from(eventId.slice('evt_'.length), 'hex');
  return nonce.length === NONCE_BYTES ? nonce : undefined;
}
