import type { KeyedHasher } from '@sealgate/auth';
import type { Sql } from '@sealgate/storage';
import { isVenueAuthentic, venueMac, type VenueRecord } from '../domain/venue-record.ts';
import type { PrismaClient } from '../generated/prisma/client.ts';

export interface VenuesStore {
  /** By id, behind `after` ('' from the first). */
  list(environment: string, page: { limit: number; after: string }): Promise<VenueRecord[]>;
  find(environment: string, venueId: string): Promise<VenueRecord | undefined>;
}

export function venuesStore(prisma: PrismaClient): VenuesStore {
  return {
    async list(environment, { limit, after }) {
      const where = { environment, venueId: { gt: after } };
      return prisma.venue.findMany({ where, orderBy: { venueId: 'asc' }, take: limit, omit: { mac: true } });
    },
    async find(environment, venueId) {
      const row = await prisma.venue.findUnique({
        where: { environment_venueId: { environment, venueId } },
        omit: { mac: true },
      });
      return row ?? undefined;
    },
  };
}

/** False when the id is taken in this environment. */
export async function insertVenue(sql: Sql, venue: VenueRecord, macs: KeyedHasher): Promise<boolean> {
  const rows = await sql.query({
    text: `INSERT INTO gate.venues (environment, venue_id, name, active, record_version, created_at, updated_at, mac)
           VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING RETURNING 1`,
    values: [...valuesOf(venue), venueMac(venue, macs)],
  });
  return rows.length > 0;
}

/**
 * The venue, held until the transaction ends.
 * @throws Error when the row is not what was written: what it says must not be signed anew.
 */
export async function lockVenue(
  sql: Sql,
  { environment, venueId }: { environment: string; venueId: string },
  macs: KeyedHasher,
): Promise<VenueRecord | undefined> {
  const [row] = await sql.query<VenueRecord & { mac: string }>({
    text: `SELECT environment, venue_id AS "venueId", name, active, record_version AS "recordVersion",
             created_at AS "createdAt", updated_at AS "updatedAt", mac
             FROM gate.venues WHERE environment = $1 AND venue_id = $2 FOR UPDATE`,
    values: [environment, venueId],
  });
  if (row === undefined) return undefined;
  const { mac, ...venue } = row;
  if (!isVenueAuthentic(venue, mac, macs)) throw new Error(`The row of venue ${venueId} is not intact.`);
  return venue;
}

export async function saveVenue(sql: Sql, venue: VenueRecord, macs: KeyedHasher): Promise<void> {
  const { environment, venueId, name, active, recordVersion, updatedAt } = venue;
  await sql.query({
    text: `UPDATE gate.venues SET name = $3, active = $4, record_version = $5, updated_at = $6, mac = $7
            WHERE environment = $1 AND venue_id = $2`,
    values: [environment, venueId, name, active, recordVersion, updatedAt, venueMac(venue, macs)],
  });
}

function valuesOf(venue: VenueRecord): unknown[] {
  const { environment, venueId, name, active, recordVersion, createdAt, updatedAt } = venue;
  return [environment, venueId, name, active, recordVersion, createdAt, updatedAt];
}
