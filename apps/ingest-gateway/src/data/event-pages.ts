import { COUNT_LIMIT } from '@sealgate/paging';
import type { Sql } from '@sealgate/storage';
import type { CommonRow, EventRow } from './event-rows.ts';
import { digitsOf, DIGITS, type EventFilter, type EventPage, firstDigits } from '../domain/read-events.ts';

// Statements of the list of events. Each table has an index in the order of a network's events and one of marks: see
// `pageOf` of libs/paging for when a page is cut out of what the marks find, and when the order is walked.

export interface WriteRow extends CommonRow {
  channel: string;
  first_index: string;
}

export const EVENT_COLUMNS = `event_id, network_id, key_id, kind, status, types, channel, first_index, record_count, indexes,
         more, records, request_id, stripped_fields, at`;

/** Conditions on rows, with the values that fill them. */
class Conditions {
  readonly values: unknown[] = [];
  readonly #texts: string[] = [];

  place(value: unknown): string {
    return `$${this.values.push(value)}`;
  }

  /** Adds a condition in which `$` stands for the value, unless there is none. */
  add(sql: string, value: unknown): void {
    if (value !== undefined) this.#texts.push(sql.replace(/\$(?!\d)/g, this.place(value).replace('$', '$$$$')));
  }

  get where(): string {
    return this.#texts.length === 0 ? '' : `WHERE ${this.#texts.join(' AND ')}`;
  }
}

const HASHES = `ARRAY(SELECT hashtext(mark) FROM unnest($::text[]) mark)`;

/** The marks of what a filter names, by the columns that have them. */
const marksOf = (named: Readonly<Record<string, string | undefined>>): string[] =>
  Object.entries(named).flatMap(([name, value]) => (value === undefined ? [] : [`${name} ${value}`]));

/** The ids of sources have indexes of their own, which are for what starts as they do. */
const isSource = (keyId: string | undefined): boolean => keyId?.startsWith('src_') === true;

/** An event is written within this time after its id was made. */
const WRITTEN_WITHIN_MS = 600_000;

function ofEvents({ networkId, keyId, kind, status, type, channel, eventIds, from, to }: EventFilter, byMark: boolean) {
  const conditions = new Conditions();
  conditions.add('network_id = $', networkId);
  conditions.add(isSource(keyId) ? `key_id = $ AND starts_with(key_id, 'src_')` : 'key_id = $', keyId);
  conditions.add('kind = $', kind);
  conditions.add('status = $', status);
  conditions.add('types ? $', type);
  // The first channel of an event is a column, further ones are in `more`; on Fabric each record names its own.
  if (channel !== undefined) {
    const further = conditions.place(JSON.stringify([{ channel }]));
    conditions.add(`(channel = $ OR more @> ${further} OR records @> ${further})`, channel);
  }
  conditions.add('event_id = ANY ($)', eventIds);
  conditions.add('at >= $', from);
  conditions.add('at < $', to);
  // The same by the ids, which are in the order of the index.
  if (from !== undefined)
    conditions.add('event_id >= $', `evt_${firstDigits(new Date(from.getTime() - WRITTEN_WITHIN_MS))}`);
  if (to !== undefined)
    conditions.add('event_id < $', `evt_${firstDigits(new Date(to.getTime() + WRITTEN_WITHIN_MS))}`);
  const marks = marksOf({ key: keyId, kind, status, channel });
  if (byMark && marks.length > 0) {
    const all = [...marks, ...marksOf({ network: networkId })];
    conditions.add(`ingest.event_marks(network_id, key_id, kind, status, channel, more, records) @> ${HASHES}`, all);
  }
  return conditions;
}

/** `of` qualifies the columns of a network, for those that are read one by one. */
function ofWrites({ networkId, keyId, type, channel, eventIds, from, to }: EventFilter, byMark: boolean) {
  const conditions = new Conditions();
  conditions.add('w.network_id = $', networkId);
  const ofSource = isSource(keyId) ? `AND substr(w.packed_key, 1, 4) = '\\x7372635f'` : '';
  conditions.add(`w.packed_key = ingest.packed_id($, 'key_') ${ofSource}`, keyId);
  conditions.add('w.types ? $', type);
  conditions.add('w.channel = $', channel);
  conditions.add(
    'w.id = ANY ($::uuid[])',
    eventIds?.map(digitsOf).filter((digits) => digits !== undefined),
  );
  if (from !== undefined) conditions.add('w.id >= $', firstDigits(from));
  if (to !== undefined) conditions.add('w.id < $', firstDigits(to));
  if (byMark && (keyId ?? type ?? channel) !== undefined) {
    const marks = marksOf({ network: networkId, channel });
    if (marks.length > 0) conditions.add(`w.marks @> ${HASHES}`, marks);
    conditions.add(`w.marks @> ARRAY[hashtext('key ' || encode(ingest.packed_id($, 'key_'), 'hex'))]`, keyId);
  }
  return conditions;
}

/** The table of writes holds committed events only. */
const mayBeWrite = ({ status = 'committed', kind = 'write' }: EventFilter): boolean =>
  status === 'committed' && kind === 'write';

/** The name of a channel starts with its network's id. */
const ofOneNetwork = (filter: EventFilter): EventFilter => {
  const networkId = filter.networkId ?? filter.channel?.split('.')[0];
  return networkId === undefined ? filter : { ...filter, networkId };
};

/** How many events pass the filter in both tables, COUNT_LIMIT at most. */
export async function countEvents(sql: Sql, filter: EventFilter): Promise<number> {
  const [inEvents, inWrites] = await Promise.all([countRows(sql, filter), countWrites(sql, filter)]);
  return Math.min(inEvents + inWrites, COUNT_LIMIT);
}

function countRows(sql: Sql, filter: EventFilter): Promise<number> {
  const { where, values } = ofEvents(filter, true);
  return counted(sql, { text: `SELECT FROM ingest.events ${where}`, values });
}

async function countWrites(sql: Sql, all: EventFilter): Promise<number> {
  if (!mayBeWrite(all)) return 0;
  const filter = ofOneNetwork(all);
  if ((await countNewest(sql, filter)) >= COUNT_LIMIT) return COUNT_LIMIT;
  const { where, values } = ofWrites(filter, true);
  return counted(sql, { text: `SELECT FROM ingest.write_events w ${where}`, values });
}

/** Of a network with a key or a channel that most of its events have: the marks of both would list nearly all of them. */
const NEWEST = 2 * COUNT_LIMIT;

/** How many of the newest events of a network pass its filter; 0 where the marks find few, or none are asked for. */
async function countNewest(sql: Sql, { networkId, ...filter }: EventFilter): Promise<number> {
  const { keyId, channel, eventIds } = filter;
  if (networkId === undefined || (keyId ?? channel) === undefined) return 0;
  // These have indexes of their own.
  if (isSource(keyId) || eventIds !== undefined) return 0;
  const { where, values } = ofWrites(filter, false);
  const network = `$${values.push(networkId)}`;
  const newest = `SELECT * FROM ingest.write_events w WHERE w.network_id = ${network} ORDER BY w.id DESC LIMIT ${NEWEST}`;
  return counted(sql, { text: `SELECT FROM (${newest}) w ${where}`, values });
}

/** A page of both tables, from each as many rows as it has of what the marks find. */
export async function pageOf(sql: Sql, filter: EventFilter, page: EventPage): Promise<[EventRow[], WriteRow[]]> {
  const { keyId, kind, status, type, channel } = filter;
  const isMarked = (keyId ?? kind ?? status ?? type ?? channel) !== undefined;
  if (isFew(page) || page.counted === undefined || !isMarked)
    return Promise.all([pageOfEvents(sql, filter, page), pageOfWrites(sql, filter, page)]);
  // There are many in both together: walking the one that has few would read all of it.
  const inEvents = await countRows(sql, filter);
  const inWrites = inEvents === 0 ? page.counted : await countWrites(sql, filter);
  return Promise.all([
    inEvents === 0 ? [] : pageOfEvents(sql, filter, { ...page, counted: inEvents }),
    inWrites === 0 ? [] : pageOfWrites(sql, filter, { ...page, counted: inWrites }),
  ]);
}

async function counted(sql: Sql, { text, values }: { text: string; values: readonly unknown[] }): Promise<number> {
  const limited = `SELECT count(*)::int AS n FROM (${text} LIMIT ${COUNT_LIMIT}) counted`;
  const [row] = await sql.query<{ n: number }>({ text: limited, values });
  return row?.n ?? 0;
}

const orderOf = ({ oldestFirst = false }: EventPage) =>
  oldestFirst ? { direction: 'ASC', beyond: '>' } : { direction: 'DESC', beyond: '<' };

const isFew = ({ counted: found = COUNT_LIMIT }: EventPage): boolean => found < COUNT_LIMIT;

function pageOfEvents(sql: Sql, filter: EventFilter, page: EventPage): Promise<EventRow[]> {
  const conditions = ofEvents(filter, isFew(page));
  const { direction, beyond } = orderOf(page);
  if (isFew(page)) {
    const found = `SELECT event_id AS found_id FROM ingest.events ${conditions.where}`;
    const after = page.after === undefined ? undefined : conditions.place(page.after);
    const cut = cutOut(found, { direction, beyond, after, limit: conditions.place(page.limit) });
    const text = `${cut} SELECT ${EVENT_COLUMNS} FROM ingest.events JOIN page ON event_id = found_id
                   ORDER BY event_id ${direction}`;
    return sql.query<EventRow>({ text, values: conditions.values });
  }
  conditions.add(`event_id ${beyond} $`, page.after);
  const text = `SELECT ${EVENT_COLUMNS} FROM ingest.events ${conditions.where}
                 ORDER BY event_id ${direction} LIMIT ${conditions.place(page.limit)}`;
  return sql.query<EventRow>({ text, values: conditions.values });
}

/** Cuts `page` out of the few rows that `found` has; their other columns are read afterwards, for those of the page alone. */
const cutOut = (
  found: string,
  { direction, beyond, after, limit }: Record<'direction' | 'beyond' | 'limit', string> & { after: string | undefined },
): string => `WITH found AS MATERIALIZED (${found}),
       page AS (SELECT * FROM found ${after === undefined ? '' : `WHERE found_id ${beyond} ${after}`}
                 ORDER BY found_id ${direction} LIMIT ${limit})`;

const WRITE_COLUMNS = `id, event_id, network_id, key_id, types, channel, first_index, record_count, request_id,
         stripped_fields, at`;
const ofWrite = WRITE_COLUMNS.replace(/\w+/g, (column) => `w.${column}`);

async function pageOfWrites(sql: Sql, all: EventFilter, page: EventPage): Promise<WriteRow[]> {
  if (!mayBeWrite(all)) return [];
  const filter = ofOneNetwork(all);
  const { direction, beyond } = orderOf(page);
  const after = page.after === undefined ? undefined : (digitsOf(page.after) ?? (beyond === '<' ? NONE : LAST));
  if (isFew(page)) {
    const conditions = ofWrites(filter, true);
    const found = `SELECT w.network_id AS found_network, w.id AS found_id FROM ingest.write_events w ${conditions.where}`;
    const last = after === undefined ? undefined : `${conditions.place(after)}::uuid`;
    const cut = cutOut(found, { direction, beyond, after: last, limit: conditions.place(page.limit) });
    const text = `${cut} SELECT ${ofWrite} FROM ingest.write_events w
                    JOIN page ON w.network_id = page.found_network AND w.id = page.found_id ORDER BY w.id ${direction}`;
    return sql.query<WriteRow>({ text, values: conditions.values });
  }
  const walk = { direction, beyond, after, limit: page.limit };
  if (filter.networkId === undefined && !isSource(filter.keyId)) return firstOfNetworks(sql, filter, walk);
  const { conditions, limit } = walked(filter, walk);
  const text = `SELECT ${ofWrite} FROM ingest.write_events w ${conditions.where} ORDER BY w.id ${direction} LIMIT ${limit}`;
  return sql.query<WriteRow>({ text, values: conditions.values });
}

interface Walk {
  readonly direction: string;
  readonly beyond: string;
  readonly after: string | undefined;
  readonly limit: number;
}

/** Conditions of what is walked, and the place of the limit. */
function walked(filter: EventFilter, { beyond, after, limit }: Walk) {
  const conditions = ofWrites(filter, false);
  conditions.add(`w.id ${beyond} $::uuid`, after);
  return { conditions, limit: conditions.place(limit) };
}

/** The first of each network, by the index: a quiet network is not searched for among the rows of busy ones. */
async function firstOfNetworks(sql: Sql, filter: EventFilter, walk: Walk): Promise<WriteRow[]> {
  if (filter.type !== undefined) return (await nextOfType(sql, filter, walk)) ?? byHolding(sql, filter, walk);
  const { conditions, limit } = walked(filter, walk);
  const text = eachNetwork({ ...walk, conditions, limit }, { networks: 'ingest.networks n' });
  return sql.query<WriteRow>({ text, values: conditions.values });
}

interface Each {
  readonly networks: string;
  readonly more?: string;
  readonly order?: string;
}

const ofEach = WRITE_COLUMNS.replace(/\w+/g, (column) => `e.${column}`);

function eachNetwork(
  { conditions, limit, direction }: { conditions: Conditions; limit: string; direction: string },
  { networks, more = '', order = 'w.id' }: Each,
): string {
  const where = conditions.where === '' ? 'WHERE' : `${conditions.where} AND`;
  return `SELECT ${ofEach} FROM ${networks} CROSS JOIN LATERAL (
             SELECT ${ofWrite} FROM ingest.write_events w ${where} w.network_id = n.network_id ${more}
              ORDER BY ${order} ${direction} LIMIT ${limit}) e
           ORDER BY e.id ${direction} LIMIT ${limit}`;
}

/** So many pages of events are looked through for a page of one type. */
const PAGES_WALKED = 2;

/** A page of a type that is common among the next events of all networks; undefined where it is not. */
async function nextOfType(sql: Sql, { type, ...filter }: EventFilter, walk: Walk): Promise<WriteRow[] | undefined> {
  const { direction, limit } = walk;
  const { conditions, limit: most } = walked(filter, { ...walk, limit: limit * PAGES_WALKED });
  const where = conditions.where === '' ? 'WHERE' : `${conditions.where} AND`;
  const rows = await sql.query<WriteRow>({
    text: `WITH next AS MATERIALIZED (
             SELECT e.network_id, e.id FROM ingest.networks n CROSS JOIN LATERAL (
               SELECT w.network_id, w.id FROM ingest.write_events w ${where} w.network_id = n.network_id
                ORDER BY w.id ${direction} LIMIT ${most}) e
              ORDER BY e.id ${direction} LIMIT ${most})
           SELECT ${ofWrite} FROM next JOIN ingest.write_events w USING (network_id, id)
            WHERE w.types ? ${conditions.place(type)} ORDER BY w.id ${direction} LIMIT ${conditions.place(limit)}`,
    values: conditions.values,
  });
  return rows.length === limit ? rows : undefined;
}

/** By the marks in networks that have few of the type, in the order of events where there are many, and nowhere else. */
async function byHolding(sql: Sql, filter: EventFilter, walk: Walk): Promise<WriteRow[]> {
  const holding = await sql.query<{ network_id: string; found: number }>({
    text: `SELECT n.network_id, c.found FROM ingest.networks n CROSS JOIN LATERAL (
             SELECT count(*)::int AS found FROM (
               SELECT FROM ingest.write_events w WHERE ${OF_NETWORK} AND w.types ? $1 LIMIT ${COUNT_LIMIT}) t) c
            WHERE c.found > 0`,
    values: [filter.type],
  });
  const [many, few] = [COUNT_LIMIT, 0].map((least) =>
    holding.filter(({ found }) => found >= least && (least > 0 || found < COUNT_LIMIT)).map((row) => row.network_id),
  );
  const { conditions, limit } = walked(filter, walk);
  const { direction } = walk;
  const of = (networks: unknown): string => `unnest(${conditions.place(networks)}::text[]) AS n (network_id)`;
  const each = { conditions, limit, direction };
  const both = `(${eachNetwork(each, { networks: of(many) })}) UNION ALL
                (${eachNetwork(each, { networks: of(few), more: `AND ${OF_NETWORK}`, order: 'w.id::text' })})`;
  const text = `SELECT ${WRITE_COLUMNS} FROM (${both}) e ORDER BY id ${direction} LIMIT ${limit}`;
  return sql.query<WriteRow>({ text, values: conditions.values });
}

const OF_NETWORK = `w.marks @> ARRAY[hashtext('network ' || n.network_id)]`;

/** Before and after every id. */
const NONE = '0'.repeat(DIGITS);
const LAST = 'f'.repeat(DIGITS);
