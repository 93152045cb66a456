import { canonical, parseStrict, type JsonValue } from '@sealgate/json';
import type { RecordRules } from './key-grants.ts';
import { parseSubmission } from './parse-record.ts';
import { readDelivery, type CanonicalDelivery, type DeliveryRules } from './read-delivery.ts';
import { stripSensitive } from './sensitive-names.ts';

/** A record as it will be written: stripped, its content canonical JSON. Id and channels are given later where none came. */
export interface CanonicalRecord {
  readonly id: string | undefined;
  readonly type: string;
  readonly owner: string | null;
  readonly data: string;
  /** What stood beside `data`; null where nothing is left of it. */
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
      /** How many sensitive members were removed. */
      readonly strippedFields: number;
    };

/** What the reading of a body depends on besides its bytes. Plain data, so that it can go to another thread. */
export interface ReadingRules extends RecordRules {
  readonly maxBatchRecords: number;
}

/** The same for a delivery to a source. */
export interface DeliveryReading {
  readonly delivery: DeliveryRules;
}

/**
 * Makes of a body all that the rest of a request needs: texts and numbers, and nothing of the parsed value. It is the one
 * step whose time and garbage depend on what is in the body and not only on its size, so it can be made on another thread.
 *
 * @throws AppError INVALID_JSON, JSON_TOO_DEEP, DUPLICATE_MEMBER, UNSAFE_NUMBER; then INVALID_REQUEST with every fault,
 * BATCH_TOO_LARGE. Code, detail and faults are all that they carry.
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
/** What is read by these rules. */
export type ReadingBy<Rules extends AnyRules> = Rules extends DeliveryReading ? CanonicalDelivery : CanonicalSubmission;

/** Reads a body as its rules say. Throws as `readSubmission` and `readDelivery` do. */
export function readBody(bytes: Uint8Array, rules: AnyRules): AnyReading {
  return 'delivery' in rules ? readDelivery(bytes, rules.delivery) : readSubmission(bytes, rules);
}

/**
 * `readBody` off the main thread. `sender` is whose body it is: senders take turns.
 *
 * Rejects as `readBody` throws; with OVERLOADED where too much waits or it takes too long; with UNAVAILABLE when the
 * process stops. It cannot hang.
 */
export type ReadApart = <Rules extends AnyRules>(
  bytes: Buffer,
  rules: Rules,
  sender: string,
) => Promise<ReadingBy<Rules>>;

/** `readBody`, here or apart, as the body and its sender make it wise. Fails as both do. */
export type ReadBody = <Rules extends AnyRules>(
  bytes: Buffer,
  rules: Rules,
  sender: string,
) => ReadingBy<Rules> | Promise<ReadingBy<Rules>>;

function canonicalExtra(extra: { [member: string]: JsonValue }): string | null {
  return Object.keys(extra).length === 0 ? null : canonical(extra);
}
