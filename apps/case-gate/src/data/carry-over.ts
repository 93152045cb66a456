import type { LedgerAppender } from '@sealgate/ledger-port';
import { heldIn } from '@sealgate/ledger-embedded';
import type { Sql } from '@sealgate/storage';
import { keyVersion, type KeyGrants, type KeyState } from '../domain/key-grants.ts';
import {
  ledgerRecordId,
  venueVersion,
  versionIds,
  versionOfRow,
  type VenueRecord,
  type VersionedRecord,
} from '../domain/versioned-record.ts';
import { versionOfPolicy, type StoredPolicy } from '../domain/manage-policies.ts';
import { ledgerUnit } from '../domain/seal-case.ts';
import { KEY_STATE_COLUMNS } from './keys-store.ts';
import type { LedgerVersions } from './ledger-versions.ts';
import { POLICY_COLUMNS } from './policies-store.ts';

const ROWS_AT_ONCE = 200;

/**
 * Writes versions to the ledger for keys, venues and policies of which it holds none, because they were created before
 * versions were recorded there. Changes no row and does not verify any: a forged row stays unusable, and an authentic
 * one counts as found, including the end of a key, once the ledger has it. Repeating it adds nothing. Returns the
 * number of versions written.
 */
export async function carryOver({
  sql,
  ledger,
  versions,
}: {
  readonly sql: Sql;
  readonly ledger: Pick<LedgerAppender, 'append'>;
  readonly versions: LedgerVersions;
}): Promise<number> {
  let written = 0;
  for (const { text, versionsOf } of SOURCES) {
    for (let after: readonly string[] = ['', '']; ;) {
      const values = [...after, ROWS_AT_ONCE];
      const rows = await sql.query<{ place: string[] }>({ text, values });
      const records = await unknownTo(sql, versions, rows.map(versionsOf));
      await Promise.all(
        records.map((record) => ledger.append(ledgerUnit(versions.target, ledgerRecordOf(versions, record)))),
      );
      written += records.length;
      if (rows.length < ROWS_AT_ONCE) break;
      after = rows.at(-1)!.place;
    }
  }
  return written;
}

interface Source {
  /** Selects at most $3 rows after position ($1, $2). */
  readonly text: string;
  /** All versions of the row, as far as they are known; the last is the current one. */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly versionsOf: (row: any) => readonly VersionedRecord[];
}

const SOURCES: readonly Source[] = [
  {
    text: `SELECT ${KEY_STATE_COLUMNS}, ARRAY[id, ''] AS place FROM gate.api_keys
            WHERE (id, '') > ($1, $2) AND NOT grants ? 'version' ORDER BY id LIMIT $3`,
    versionsOf: ({ grants, ...key }: KeyState & { grants: Partial<KeyGrants> | null }) => {
      const { scopes = [], mac = '' } = grants ?? {};
      return [keyVersion(key, { scopes: Array.isArray(scopes) ? scopes : [], mac: String(mac) })];
    },
  },
  {
    text: `SELECT environment, venue_id AS "venueId", name, active, record_version AS "recordVersion",
             created_at AS "createdAt", updated_at AS "updatedAt", mac, ARRAY[environment, venue_id] AS place
             FROM gate.venues WHERE (environment, venue_id) > ($1, $2) ORDER BY environment, venue_id LIMIT $3`,
    versionsOf: (venue: VenueRecord & { mac: string }) => {
      const newest = venueVersion(venue, venue.mac);
      // Only that earlier versions existed is known.
      const over = { environment: venue.environment, venue_id: venue.venueId, carried_over: true };
      const before = Math.max(0, Math.min(newest.version - 1, MAX_EARLIER));
      return [...Array.from({ length: before }, (_, at) => versionOfRow(newest.name, at + 1, over)), newest];
    },
  },
  {
    text: `SELECT ${POLICY_COLUMNS}, ARRAY[environment, policy_version] AS place FROM gate.policies
            WHERE (environment, policy_version) > ($1, $2) AND record_version = 0
            ORDER BY environment, policy_version LIMIT $3`,
    versionsOf: (policy: StoredPolicy & { mac: string }) => [versionOfPolicy(policy, policy.mac)],
  },
];

/** Maximum earlier versions of one venue. */
const MAX_EARLIER = 1000;

/** The versions of rows of which neither the ledger nor the outbox holds any. */
async function unknownTo(
  sql: Sql,
  { recordIds, target }: LedgerVersions,
  histories: readonly (readonly VersionedRecord[])[],
): Promise<VersionedRecord[]> {
  const named = histories.map((records) => ({
    records,
    ids: records.flatMap(({ name, version }) => [
      ...versionIds(recordIds, name, version),
      ...versionIds(recordIds, name, version + 1),
    ]),
  }));
  const all = named.flatMap(({ ids }) => ids);
  if (all.length === 0) return [];
  const held = await heldIn(sql, target.channel, all);
  const text = 'SELECT record_id FROM gate.outbox WHERE record_id = ANY ($1)';
  const waiting = new Set(
    (await sql.query<{ record_id: string }>({ text, values: [all] })).map((row) => row.record_id),
  );
  return named.flatMap(({ records, ids }) => (ids.some((id) => held.has(id) || waiting.has(id)) ? [] : records));
}

function ledgerRecordOf({ recordIds }: LedgerVersions, { name, version, type, data }: VersionedRecord) {
  return { recordId: ledgerRecordId(recordIds, [...name, String(version)]), recordType: type, data };
}
