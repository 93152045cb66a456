import type { Sql } from '@sealgate/storage';
import { firstDigits, timeOfDigits } from '../domain/event-ids.ts';

/** A request leaves one event, and one more for each time that it was sent again under its id. */
const MOST = 500;

/** An event is made while its request is answered: body, wait and write take less than this together. */
const MADE_WITHIN_MS = 120_000;

const OURS = /^req_([0-9a-f]{32})$/;

/**
 * The ids of the events that a request left from a moment on. An id that a sender chose is found by the index of
 * `0006_requests.sql`. One of ours says when it was made: its events are looked for in the two minutes after that, and
 * what came later under the same id, because somebody sent it on, is not found.
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
             WHERE e.request_id = $1 AND e.request_id !~ '^req_[0-9a-f]{32}$' AND e.event_id >= $2 LIMIT ${MOST})
           UNION ALL
           (SELECT ${WRITE_ID} FROM ingest.writes w
             WHERE w.request_id = $3 AND substr(w.request_id, 1, 1) <> '\\x00'::bytea AND w.event_id >= $4 LIMIT ${MOST})`,
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
