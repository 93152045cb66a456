import { ELIGIBILITY } from '../domain/eligibility-record.ts';
import { KEYS } from '../domain/key.ts';
import { POLICIES } from '../domain/policy.ts';
import type { SignedKind } from '../domain/signed-row.ts';
import { VENUES } from '../domain/venue.ts';

/** A table of signed rows, for jobs that go through all of them. */
export interface SignedTable {
  /** The first part of the ledger ids. */
  readonly kind: SignedKind<unknown>['kind'];
  /** For operators. */
  readonly what: string;
  readonly table: string;
  /** The columns that identify a row, at most two: its place. */
  readonly id: readonly string[];
  /** The names of these in ledger records. */
  readonly members: readonly string[];
  /** SQL of the version, and of the MAC. */
  readonly version: string;
  readonly mac: string;
  /** Rows whose MAC is verified. */
  readonly isVerified: string;
}

const tableOf = ({ kind, what, table, id }: Pick<SignedTable, 'kind' | 'what' | 'table' | 'id'>): SignedTable => ({
  kind,
  what,
  table,
  id,
  members: id,
  version: 'record_version',
  mac: 'mac',
  isVerified: 'true',
});

const KEY_TABLE: SignedTable = {
  ...tableOf(KEYS),
  id: ['id'],
  // Tolerates any forged value.
  version: `CASE WHEN grants->>'version' ~ '^[1-9][0-9]{0,8}$' THEN (grants->>'version')::integer ELSE 0 END`,
  mac: `(grants->>'mac')`,
  // A revoked key is never valid, whatever its MAC.
  isVerified: 'revoked_at IS NULL',
};

export const SIGNED_TABLES: readonly SignedTable[] = [
  KEY_TABLE,
  tableOf(VENUES),
  tableOf(POLICIES),
  tableOf(ELIGIBILITY),
];

/** A row of a table: the values that identify it, always two. */
export interface AtPlace {
  readonly place: readonly string[];
}

const placeOf = ({ id }: SignedTable): string => [...id, `''`].slice(0, 2).join(', ');

/** Selects the place and these columns of at most $3 rows after the place ($1, $2). */
export function pageText(of: SignedTable, columns: string, condition = 'true'): string {
  const place = placeOf(of);
  return `SELECT ARRAY[${place}] AS place, ${columns} FROM gate.${of.table}
    WHERE ${condition} AND (${place}) > ($1, $2) ORDER BY ${of.id.join(', ')} LIMIT $3`;
}

/** Selects the place and version of the rows at places $1, $2. */
export function versionsText(of: SignedTable): string {
  const place = placeOf(of);
  return `SELECT ARRAY[${place}] AS place, ${of.version} AS version FROM gate.${of.table}
    WHERE (${place}) IN (SELECT * FROM unnest($1::text[], $2::text[]))`;
}

/** The parts of the ledger ids of a row before the version. */
export function nameAt({ kind, id }: SignedTable, place: readonly string[]): string[] {
  return [kind, ...id.map((_, at) => place[at] ?? '')];
}

/** What identifies a row in ledger records. */
export function membersAt({ members }: SignedTable, place: readonly string[]): Record<string, string> {
  return Object.fromEntries(members.map((member, at) => [member, place[at] ?? '']));
}
