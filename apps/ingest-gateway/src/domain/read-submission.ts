import { canonical, parseStrict, type JsonValue } from '@sealgate/json';
import type { RecordRules } from './caller.ts';
import { parseSubmission } from './parse-record.ts';
import { readDelivery, type CanonicalDelivery, type DeliveryRules } from './read-delivery.ts';
import { stripSensitive } from './sensitive-names.ts';

/** A record to write: sensitive members removed, content in canonical JSON. Ids and channels may still be missing. */
export interface CanonicalRecord {
  readonly id: string | undefined;
  readonly type: string;
  readonly owner: string | null;
  readonly data: string;
  /** The members beside `data`; null where none is left. */
  readonly extra: string | null;
  /** Undefined: the network's first channel. */
  readonly targetChannels: readonly string[] | undefined;
}

/** What a request body holds. */
export type CanonicalSubmission =
  | { readonly kind: 'ping' }
  | {
      readonly kind: 'write';
      readonly records: readonly CanonicalRecord[];
      /** Number of sensitive members removed. */
      readonly strippedFields: number;
    };

/** What reading a body depends on besides its bytes. Plain data, so it can be posted to another thread. */
export interface ReadingRules extends RecordRules {
  readonly maxBatchRecords: number;
}

/** The same for a delivery to a source. */
export interface DeliveryReading {
  readonly delivery: DeliveryRules;
}

/**
 * Turns a body into all that the rest of the request needs: texts and numbers, nothing of the parsed value. This is the
 * one step whose time and garbage depend on the content and not only on the size, so it can run in another thread.
 *
 * @throws AppError INVALID_JSON, JSON_TOO_DEEP, DUPLICATE_MEMBER, UNSAFE_NUMBER; then INVALID_REQUEST with every fault,
 * BATCH_TOO_LARGE. They carry only code, detail and faults.
 */
export function readSubmission(bytes: Uint8Array, rules: ReadingRules): CanonicalSubmission {
  const submission = parseSubmission(parseStrict(bytes), rules, rules.maxBatchRecords);
  if (submission.kind === 'ping') return submission;
  let strippedFields = 0;
  const records: CanonicalRecord[] = [];
  for (const { id, type, owner, data, extra, targetChannels } of submission.records) {
    const kept = stripSensitive(data);
    const beside = extra === null ? undefined : stripSensitive(extra);
    strippedFields += kept.removed + (beside?.removed ?? 0);
    const besideText = beside === undefined ? null : canonicalExtra(beside.value);
    records.push({ id, type, owner, data: canonical(kept.value), extra: besideText, targetChannels });
  }
  return { kind: 'write', records, strippedFields };
}

export type AnyRules = ReadingRules | DeliveryReading;
export type AnyReading = CanonicalSubmission | CanonicalDelivery;
/** The result of reading by these rules. */
export type ReadingBy<Rules extends AnyRules> = Rules extends DeliveryReading ? CanonicalDelivery : CanonicalSubmission;

/** Reads a body by its rules. Throws as `readSubmission` and `readDelivery` do. */
export function readBody(bytes: Uint8Array, rules: AnyRules): AnyReading {
  return 'delivery' in rules ? readDelivery(bytes, rules.delivery) : readSubmission(bytes, rules);
}

/**
 * `readBody` off the main thread. `sender` identifies whose turn a body takes.
 *
 * Rejects as `readBody` throws; with OVERLOADED where the queue is full or a timeout expires; with UNAVAILABLE when the
 * process stops. It cannot hang.
 */
export type ReadApart = <Rules extends AnyRules>(
  bytes: Buffer,
  rules: Rules,
  sender: string,
) => Promise<ReadingBy<Rules>>;

/** `readBody` on the main thread or in the reading thread, depending on the body and its sender. Fails as both do. */
export type ReadBody = <Rules extends AnyRules>(
  bytes: Buffer,
  rules: Rules,
  sender: string,
) => ReadingBy<Rules> | Promise<ReadingBy<Rules>>;

function canonicalExtra(extra: { [member: string]: JsonValue }): string | null {
  return Object.keys(extra).length === 0 ? null : canonical(extra);
}
