import type { KeyedHasher } from '@sealgate/auth';
import type { Sql } from '@sealgate/storage';
import { isVenueAuthentic, venueMac, venueName, venueVersion, type VenueRecord } from '../domain/versioned-record.ts';
import type { LedgerVersions } from './ledger-versions.ts';
import type { RecordingSql, Urgency } from './ledger-writer.ts';

export interface VenuesStore {
  /** By id, after `after` ('' from the first). */
  list(environment: string, page: { limit: number; after: string }): Promise<VenueRecord[]>;
  find(environment: string, venueId: string): Promise<VenueRecord | undefined>;
}

const COLUMNS = `environment, venue_id AS "venueId", name, active, record_version AS "recordVersion",
  created_at AS "createdAt", updated_at AS "updatedAt"`;

export function venuesStore(sql: Sql): VenuesStore {
  return {
    list: (environment, { limit, after }) =>
      sql.query<VenueRecord>({
        text: `SELECT ${COLUMNS} FROM gate.venues WHERE environment = $1 AND venue_id > $2 ORDER BY venue_id LIMIT $3`,
        values: [environment, after, limit],
      }),
    async find(environment, venueId) {
      const text = `SELECT ${COLUMNS} FROM gate.venues WHERE environment = $1 AND venue_id = $2`;
      return (await sql.query<VenueRecord>({ text, values: [environment, venueId] }))[0];
    },
  };
}

interface VenueParts {
  readonly macs: KeyedHasher;
  readonly versions: LedgerVersions;
}

/**
 * False where the id is taken in this environment. A venue whose row is gone is created again as the version after the
 * newest in the ledger.
 */
export async function insertVenue(
  sql: RecordingSql,
  venue: Omit<VenueRecord, 'recordVersion'>,
  { macs, versions }: VenueParts,
): Promise<boolean> {
  const newest = (await versions.newest(sql, venueName(venue))) ?? 0;
  const made = { ...venue, recordVersion: newest + 1 };
  const { environment, venueId, name, active, recordVersion, createdAt, updatedAt } = made;
  const mac = venueMac(made, macs);
  const rows = await sql.query({
    text: `INSERT INTO gate.venues (environment, venue_id, name, active, record_version, created_at, updated_at, mac)
           VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING RETURNING 1`,
    values: [environment, venueId, name, active, recordVersion, createdAt, updatedAt, mac],
  });
  if (rows.length === 0) return false;
  await sql.enter(venueVersion(made, mac), 'before the answer');
  return true;
}

/**
 * Reads and locks the venue until the transaction ends.
 * @throws Error where the row fails its MAC, or is older than what the ledger holds: it must not be signed again.
 */
export async function lockVenue(
  sql: Sql,
  { environment, venueId }: { environment: string; venueId: string },
  { macs, versions }: VenueParts,
): Promise<VenueRecord | undefined> {
  const [row] = await sql.query<VenueRecord & { mac: string }>({
    text: `SELECT ${COLUMNS}, mac FROM gate.venues WHERE environment = $1 AND venue_id = $2 FOR UPDATE`,
    values: [environment, venueId],
  });
  if (row === undefined) return undefined;
  const { mac, ...venue } = row;
  const isIntact =
    isVenueAuthentic(venue, mac, macs) && !(await versions.isContradicted(sql, venueVersion(venue, mac)));
  if (!isIntact) throw new Error(`The row of venue ${venueId} failed its integrity check.`);
  return venue;
}

/** Writes the next version of a locked venue. */
export async function saveVenue(
  sql: RecordingSql,
  venue: VenueRecord,
  macs: KeyedHasher,
  urgency: Urgency = 'before the answer',
): Promise<void> {
  const { environment, venueId, name, active, recordVersion, updatedAt } = venue;
  const mac = venueMac(venue, macs);
  await sql.query({
    text: `UPDATE gate.venues SET name = $3, active = $4, record_version = $5, updated_at = $6, mac = $7
            WHERE environment = $1 AND venue_id = $2`,
    values: [environment, venueId, name, active, recordVersion, updatedAt, mac],
  });
  await sql.enter(venueVersion(venue, mac), urgency);
}
