import type { Sql } from '@sealgate/storage';
import { firstDigits, timeOfDigits, type PlacesOf, type RecordPlace } from '../domain/read-events.ts';

// Events by what people know of them: a request, a delivery, a record.

/** Maximum per table. A request leaves one event, plus one for each repeat under the same request id. */
const MOST = 500;

/** Upper bound of the time between a request id and its event: body, queue and write together. */
const MADE_WITHIN_MS = 120_000;

const OURS = /^req_([0-9a-f]{32})$/;

/**
 * The ids of the events of a request, from a moment on. Request ids chosen by a sender are found by the indexes
 * `events_by_request` and `writes_by_request`. Our own contain their time: events are searched in the two minutes after
 * it. Later events under the same id, from a caller that forwarded it, are not found.
 */
export async function requestEvents(sql: Sql, requestId: string, from: Date): Promise<string[]> {
  const digits = OURS.exec(requestId)?.[1];
  const rows = await sql.query<{ event_id: string }>(
    digits === undefined ? chosenBySender(requestId, from) : madeByUs(requestId, { digits, from }),
  );
  return rows.map((row) => row.event_id);
}

const WRITE_ID = `'evt_' || encode(uuid_send(w.event_id), 'hex')`;

function chosenBySender(requestId: string, from: Date) {
  const first = firstDigits(from);
  return {
    text: `(SELECT e.event_id FROM ingest.events e
             WHERE e.request_id = $1 AND e.request_id !~ '^req_[0-9a-f]{32}$' AND e.event_id >= $2
             ORDER BY e.event_id DESC LIMIT ${MOST})
           UNION ALL
           (SELECT ${WRITE_ID} FROM ingest.writes w
             WHERE w.request_id = $3 AND substr(w.request_id, 1, 1) <> '\\x00'::bytea AND w.event_id >= $4
             ORDER BY w.event_id DESC LIMIT ${MOST})`,
    values: [requestId, `evt_${first}`, Buffer.from(requestId), first],
  };
}

function madeByUs(requestId: string, { digits, from }: { readonly digits: string; readonly from: Date }) {
  const madeAt = timeOfDigits(digits);
  const first = firstDigits(new Date(Math.max(madeAt.getTime(), from.getTime())));
  const end = firstDigits(new Date(madeAt.getTime() + MADE_WITHIN_MS));
  return {
    text: `(SELECT e.event_id FROM ingest.events e
             WHERE e.event_id >= $2 AND e.event_id < $3 AND e.request_id = $1 LIMIT ${MOST})
           UNION ALL
           (SELECT o.event_id FROM ingest.networks n CROSS JOIN LATERAL (
              SELECT ${WRITE_ID} AS event_id FROM ingest.writes w
               WHERE w.network_id = n.network_id AND w.event_id >= $4 AND w.event_id < $5 AND w.request_id = $6
               LIMIT ${MOST}) o LIMIT ${MOST})`,
    values: [requestId, `evt_${first}`, `evt_${end}`, first, end, Buffer.from(`00${digits}`, 'hex')],
  };
}

/** The ids of the events of deliveries with this id, newest first. */
export async function deliveryEvents(sql: Sql, deliveryId: string): Promise<string[]> {
  const rows = await sql.query<{ event_id: string }>({
    text: `(SELECT e.event_id FROM ingest.events e
             WHERE e.delivery_id = $1 AND e.delivery_id <> '' ORDER BY e.event_id DESC LIMIT ${MOST})
           UNION ALL
           (SELECT ${WRITE_ID} FROM ingest.writes w
             WHERE w.delivery_id = $1 AND w.delivery_id <> '' ORDER BY w.event_id DESC LIMIT ${MOST})
           ORDER BY event_id DESC LIMIT ${MOST}`,
    values: [deliveryId],
  });
  return rows.map((row) => row.event_id);
}

/** Channels in which a record is looked for: each costs a look at the index of ids. */
const MOST_CHANNELS = 10_000;

/** Ids of one millisecond may be ahead of the clock, when there are many. */
const AHEAD_MS = 1000;

/** Events of a network that are read for the one that wrote a record, from the time of the record backwards. */
const MOST_WALKED = 20_000;

/**
 * The ids of the events that wrote a record. Events on Fabric hold the ids of their records, which are among their marks.
 * In the embedded ledger, a record says where and when it was written; its event has that place, and was begun shortly
 * before. An archived record has no time here any more, so its event is not found. `placesOf` asks the ledger; absent on
 * Fabric.
 */
export async function recordEvents(
  sql: Sql,
  recordId: string,
  { networkId, placesOf }: { readonly networkId: string | undefined; readonly placesOf: PlacesOf | undefined },
): Promise<string[]> {
  const named = await sql.query<{ event_id: string }>({
    text: `SELECT event_id FROM ingest.events
            WHERE ingest.event_marks(network_id, key_id, kind, status, channel, more, records)
                    @> ARRAY[hashtext('record ' || $1)] AND records @> $2 LIMIT ${MOST}`,
    values: [recordId, JSON.stringify([{ id: recordId }])],
  });
  const ids = named.map((row) => row.event_id);
  if (placesOf === undefined) return ids;
  const places = await placesOf(recordId, await channelsOf(sql, networkId));
  const found = await Promise.all(places.slice(0, MOST).map((place) => eventsAt(sql, place)));
  return [...new Set([...ids, ...found.flat()])];
}

/** The full names of the channels of a network, or of all. */
async function channelsOf(sql: Sql, networkId: string | undefined): Promise<string[]> {
  const rows = await sql.query<{ channel: string }>({
    text: `SELECT DISTINCT n.network_id || '.' || c.channel AS channel
             FROM ingest.networks n CROSS JOIN LATERAL unnest(n.channels) c (channel)
            WHERE n.deleted_at IS NULL AND ($1::text IS NULL OR n.network_id = $1) LIMIT ${MOST_CHANNELS}`,
    values: [networkId ?? null],
  });
  return rows.map(({ channel }) => channel);
}

async function eventsAt(sql: Sql, { network, channel, position, at }: RecordPlace): Promise<string[]> {
  const end = firstDigits(new Date(at.getTime() + AHEAD_MS));
  const begin = firstDigits(new Date(at.getTime() - MADE_WITHIN_MS));
  const walked = (table: string, before: string, after: string) =>
    `(SELECT * FROM ingest.${table} o WHERE o.network_id = $1 AND o.event_id < ${before} AND o.event_id >= ${after}
       ORDER BY o.event_id DESC LIMIT ${MOST_WALKED})`;
  const rows = await sql.query<{ event_id: string }>({
    text: `(SELECT ${WRITE_ID} AS event_id FROM ${walked('writes', '$2::text::uuid', '$3::text::uuid')} w
             WHERE w.channel_name = $4 AND w.first_index <= $5::bigint AND $5::bigint < w.first_index + w.record_count
             LIMIT 1)
           UNION ALL
           (SELECT e.event_id FROM ${walked('events', "'evt_' || $2::text", "'evt_' || $3::text")} e
             CROSS JOIN LATERAL (
               SELECT e.channel, e.first_index AS first, e.record_count AS count, e.indexes
               UNION ALL
               SELECT m ->> 'channel', (m ->> 'first')::bigint, (m ->> 'count')::integer, nullif(m -> 'indexes', 'null')
                 FROM jsonb_array_elements(e.more) m) unit
             WHERE unit.channel = $1 || '.' || $4
               AND CASE WHEN unit.indexes IS NULL
                        THEN unit.first <= $5::bigint AND $5::bigint < unit.first + unit.count
                        ELSE unit.indexes @> to_jsonb($5::bigint) END
             LIMIT 1)`,
    values: [network, end, begin, channel.slice(network.length + 1), position],
  });
  return rows.map((row) => row.event_id);
}
