import { Findings, type Check } from './check.ts';
import { listOf, membersOf } from './canonical.ts';
import type { Databases } from './databases.ts';

/** An event of the ingest gateway, with what it says to have written in one channel. */
interface EventRow {
  readonly event_id: string;
  readonly network_id: string;
  readonly channel: string | null;
  readonly first_index: string | null;
  readonly record_count: number;
  readonly indexes: readonly number[] | null;
  readonly status: string;
}

const PAGE = 20_000;

/** Each record of a sender has an event; one that an answer told is there, and not unknown. */
export function writeEvents(): Check {
  const findings = new Findings('every record of the gateway has its event, and every answer its own');
  const networks = new Set<string>();
  /** By channel: one byte for each index, 1 once an event names it. */
  const rows = new Map<string, { network: string; count: number; named?: Uint8Array }>();
  /** The events of written answers, with the lines. */
  const told = new Map<string, number>();
  return {
    line(line, number) {
      if (line.is !== 'asked' || (line.act !== 'write' && line.act !== 'deliver')) return;
      networks.add(line.as);
      const members = line.status === 200 ? membersOf(line.text) : {};
      if (listOf(members, 'records').length > 0) told.set(String(members['eventId']), number);
    },
    record({ channel, network }) {
      const known = rows.get(channel) ?? { network, count: 0 };
      rows.set(channel, known);
      known.count += 1;
    },
    async close(databases) {
      if (!databases.has('ingest-gateway')) return findings.verdict();
      const there = new Set<string>();
      for (const row of rows.values()) row.named = new Uint8Array(row.count);
      for await (const event of events(databases)) {
        there.add(event.event_id);
        if (event.status === 'unknown' && told.has(event.event_id))
          findings.add(`line ${told.get(event.event_id)}: its event ${event.event_id} is still unknown`);
        const named = rows.get(event.channel ?? '')?.named;
        for (const index of indexesOf(event)) {
          if (named?.[index] === undefined)
            findings.add(`${event.event_id} names ${event.channel}/${index}, which is not there`);
          else named[index] = 1;
        }
      }
      for (const [id, number] of told) if (!there.has(id)) findings.add(`line ${number}: its event ${id} is not there`);
      for (const [channel, { network, named, count }] of rows) {
        if (!networks.has(network)) continue;
        findings.judged += count;
        named!.forEach((isNamed, index) => isNamed === 1 || findings.add(`${channel}/${index} has no event`));
      }
      return findings.verdict();
    },
  };
}

function indexesOf({ first_index, record_count, indexes }: EventRow): readonly number[] {
  if (indexes !== null) return indexes;
  if (first_index === null) return [];
  return Array.from({ length: record_count }, (_, at) => Number(first_index) + at);
}

async function* events(databases: Databases): AsyncGenerator<EventRow> {
  for (let after = ['', '00000000-0000-0000-0000-000000000000']; ;) {
    const rows = await databases.rows<EventRow & { id: string }>(
      'ingest-gateway',
      `SELECT event_id::text AS id, 'evt_' || replace(event_id::text, '-', '') AS event_id, network_id,
              network_id || '.' || channel_name AS channel, first_index, record_count, NULL AS indexes,
              'committed' AS status
         FROM ingest.writes WHERE (network_id, event_id) > ($1, $2::uuid) ORDER BY network_id, event_id LIMIT ${PAGE}`,
      after,
    );
    yield* rows;
    if (rows.length < PAGE) break;
    after = [rows.at(-1)!.network_id, rows.at(-1)!.id];
  }
  for (let after = ''; ;) {
    const rows = await databases.rows<EventRow & { more: readonly More[] }>(
      'ingest-gateway',
      `SELECT event_id, network_id, channel, first_index, record_count, indexes, status, more FROM ingest.events
        WHERE event_id > $1 AND kind = 'write' ORDER BY event_id LIMIT ${PAGE}`,
      [after],
    );
    for (const row of rows) {
      yield row;
      for (const { channel, first, count, indexes } of row.more)
        yield { ...row, channel, first_index: first === null ? null : String(first), record_count: count, indexes };
    }
    if (rows.length < PAGE) return;
    after = rows.at(-1)!.event_id;
  }
}

/** A further channel of an event. */
interface More {
  readonly channel: string;
  readonly first: number | null;
  readonly count: number;
  readonly indexes: readonly number[] | null;
}
