import { digitsOf, timeOfDigits, type IngestEvent } from '../domain/read-events.ts';

/** The place of one transaction of an event in the ledger, as `ingest.append_many` stored it. */
export interface EventUnit {
  readonly channel: string;
  /** The first index and the number of records; null where `indexes` lists each. */
  readonly first: number | null;
  readonly count: number;
  readonly indexes: readonly number[] | null;
}

/** What rows of `events` and of the view `write_events` share. */
export interface CommonRow {
  event_id: string;
  network_id: string;
  key_id: string;
  types: string[];
  record_count: number;
  request_id: string;
  stripped_fields: number;
  at: Date;
}

export interface EventRow extends CommonRow {
  kind: IngestEvent['kind'];
  status: IngestEvent['status'];
  channel: string | null;
  first_index: string | null;
  indexes: number[] | null;
  more: EventUnit[];
  records: IngestEvent['records'] | null;
}

/** A row of which not everything can be shown. */
export interface Unreadable {
  readonly eventId: string;
  readonly columns: readonly string[];
}

/** The largest MAX_BATCH_RECORDS; the database refuses more. */
const MOST_RECORDS = 1000;

/** Calls `report` once for each event, however often it is read: the tail reads every second. */
export function onceEach(report: (unreadable: Unreadable) => void): (unreadable: Unreadable) => void {
  const told = new Set<string>();
  return (unreadable) => {
    if (told.has(unreadable.eventId)) return;
    if (told.size >= MOST_RECORDS) told.clear();
    told.add(unreadable.eventId);
    report(unreadable);
  };
}

/** Records of a channel that follow one another. */
interface Run {
  readonly first: number;
  readonly count: number;
}

/** Where the records of a unit are in its channel. */
export const runsOf = ({ first, count, indexes }: EventUnit): Run[] =>
  indexes?.map((index) => ({ first: index, count: 1 })) ?? [{ first: first ?? 0, count }];

/**
 * The row without what cannot be shown, which `report` is told: lists become empty, an unknown status `unknown`, and the
 * time that of the id. So a row that somebody changed in the database hides no other.
 */
export function readableOf(row: EventRow, report: (unreadable: Unreadable) => void): EventRow {
  const {
    kind,
    status,
    channel,
    first_index: firstIndex,
    record_count: count,
    indexes,
    records,
    more,
    types,
    at,
  } = row;
  const first = firstIndex === null ? null : Number(firstIndex);
  const hasPlaces = channel === null || isUnit({ channel, first, count, indexes });
  const faults: Record<string, Partial<EventRow> | undefined> = {
    kind: kind === 'write' || kind === 'ping' ? undefined : { kind: 'write' },
    status: ['committed', 'rejected', 'unknown'].includes(status) ? undefined : { status: 'unknown' },
    types: isListOf(types, isText) ? undefined : { types: [] },
    places: hasPlaces ? undefined : { channel: null },
    more: isListOf(more, isUnit) ? undefined : { more: [] },
    records: records === null || isListOf(records, isRecord) ? undefined : { records: [] },
    at: at instanceof Date && at.getTime() >= 0 ? undefined : { at: timeOfDigits(digitsOf(row.event_id) ?? '0') },
  };
  const columns = Object.keys(faults).filter((column) => faults[column] !== undefined);
  if (columns.length === 0) return row;
  report({ eventId: row.event_id, columns });
  return Object.assign({ ...row }, ...Object.values(faults)) as EventRow;
}

const isText = (value: unknown): boolean => typeof value === 'string';

const isListOf = (value: unknown, isOne: (one: unknown) => boolean): boolean =>
  Array.isArray(value) && value.length <= MOST_RECORDS && value.every(isOne);

const isPlace = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0;

function isUnit(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const { channel, first, count, indexes } = value as Partial<EventUnit>;
  const isCounted = isPlace(count) && count! <= MOST_RECORDS;
  return (
    isText(channel) &&
    isCounted &&
    (first === null || first === undefined || (isPlace(first) && isPlace(first + MOST_RECORDS))) &&
    (indexes === null || indexes === undefined || isListOf(indexes, isPlace))
  );
}

function isRecord(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const { id, channel, transactionId } = value as Partial<IngestEvent['records'][number]>;
  return [id, channel, transactionId].every(isText);
}
