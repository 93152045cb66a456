import { ServerSecrets } from '@sealgate/auth';
import type { Sql, Statement } from '@sealgate/storage';
import { callerLookups, type CallerLookupsOptions } from '../src/data/caller-lookups.ts';
import { knownRows } from '../src/data/verified-rows.ts';
import { type LedgerWitness, seenVersions } from '../src/data/ledger-versions.ts';
import { rowOf, type EligibilityRecord } from '../src/domain/eligibility-record.ts';
import { signedGrants, type Key } from '../src/domain/key.ts';
import { rowMac } from '../src/domain/signed-row.ts';
import { VENUES, type Venue } from '../src/domain/venue.ts';
import type { VersionedRecord } from '../src/domain/versioned-record.ts';

const secrets = ServerSecrets.parse(`s1:${'k'.repeat(32)}`);
export const macs = { eligibility: secrets.derive('e'), venues: secrets.derive('v'), keys: secrets.derive('k') };
export const at = new Date('2026-01-01T00:00:00.000Z');
export const keyHash = Buffer.alloc(32, 7);
export const identity: Key = {
  key_id: 'key_1',
  environment: 'live',
  family_id: 'key_1',
  label: 'door',
  key_prefix: 'gk_aaaaaaaaa',
  key_hash: keyHash.toString('hex'),
  replaces: null,
  created_at: at.toISOString(),
  expires_at: null,
  record_version: 1,
  overlap_until: null,
  revoked_at: null,
  scopes: ['gate:check'],
};
const venue: Venue = {
  environment: 'live',
  venue_id: 'hall',
  name: 'Hall',
  active: true,
  record_version: 1,
  created_at: at.toISOString(),
  updated_at: at.toISOString(),
};
const record = (version: number): EligibilityRecord => ({
  v: 1,
  environment: 'live',
  subject_ref: 'subj_a',
  record_version: version,
  current: null,
  suspension: null,
  revocation: null,
  changed_at: at.toISOString(),
});
export const entry = { subjectRef: 'subj_a', venueId: 'hall' };

/** The columns of a subject in the look-up. */
const columnsOf = (of: EligibilityRecord) => ({
  ...rowOf(of, macs.eligibility),
  changed_at: new Date(of.changed_at),
});

/** A row of the look-up statement. */
export function row(ord: number, version: number, change: object = {}) {
  return {
    ord,
    is_standby: false,
    key_hash: keyHash,
    id: identity.key_id,
    owner_id: 'live',
    family_id: identity.family_id,
    label: identity.label,
    key_prefix: identity.key_prefix,
    grants: JSON.stringify(signedGrants(identity, macs.keys)),
    created_at: at,
    expires_at: null,
    overlap_until: null,
    replaces: null,
    held: null,
    conflict: null,
    ...columnsOf(record(version)),
    newest_version: version,
    venue_id: 'hall',
    venue_name: venue.name,
    venue_active: venue.active,
    venue_version: venue.record_version,
    venue_created_at: at,
    venue_updated_at: at,
    venue_mac: rowMac(VENUES, venue, macs.venues),
    ...change,
  };
}

/** A ledger that contradicts nothing. */
export const silent: LedgerWitness = {
  channel: 'gate.seals',
  idsOf: ({ name, version }) => [`${name.join(' ')} ${version}`],
  nextIds: ({ name, version }) => [`${name.join(' ')} ${version + 1}`],
  contradicted: async () => new Set(),
  missing: async () => new Set(),
};

type Answer = (asked: number, statement: Statement) => Promise<object[]>;

export function lookups(answer: Answer, more: Partial<CallerLookupsOptions> = {}) {
  const asked: Statement[] = [];
  const corrupt: string[] = [];
  // A fake database, which can give answers that a real one does not.
  const sql: Sql = { query: (statement) => answer(asked.push(statement) - 1, statement) as Promise<never[]> };
  const made = callerLookups({
    sql,
    macs,
    seen: seenVersions(10),
    known: knownRows(10),
    witness: silent,
    losses: async () => [],
    now: () => at.getTime(),
    deadlineMs: 100,
    onCorrupt: (what) => corrupt.push(what),
    ...more,
  });
  return { ...made, asked, corrupt };
}

const approved: EligibilityRecord['current'] = {
  decision: 'approve',
  case_id: 'case_1',
  policy_version: 'p1',
  decision_id: 'dec_1',
  reason_codes: [],
  ledger_record_id: 'ledger_rec_1',
  venue_ids: ['hall'],
  valid_until: null,
  decided_at: at.toISOString(),
  valid_from: at.toISOString(),
};
export const eligible = (ord: number, version = 2) =>
  row(ord, version, columnsOf({ ...record(version), current: approved }));

export const named = (records: readonly VersionedRecord[]) =>
  records.map(({ name, version }) => [...name, version].join(' '));
