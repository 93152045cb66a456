import type { KeyedHasher } from '@sealgate/auth';
import { heldIn } from '@sealgate/ledger-embedded';
import { DatabaseUnavailableError, type Sql } from '@sealgate/storage';
import { eligibilityName, eligibilityVersion } from '../domain/change-eligibility.ts';
import { rowOf } from '../domain/eligibility-record.ts';
import { keyName } from '../domain/key-grants.ts';
import { policyName } from '../domain/manage-policies.ts';
import { decisionMac, isDecided, sealDocument } from '../domain/seal-document.ts';
import { venueName, versionIds, versionOfRow, type VersionedRecord } from '../domain/versioned-record.ts';
import type { CaseParts, InCaseTransaction } from './case-transaction.ts';
import { lockEligibility } from './eligibility-store.ts';
import { remakeKey } from './keys-store.ts';
import { VERSIONS_AT_ONCE, type LedgerVersions } from './ledger-versions.ts';
import type { RecordingSql, RecordingTransactions, Urgency } from './ledger-writer.ts';
import { lockPolicy, savePolicy } from './policies-store.ts';
import { lockVenue, saveVenue } from './venues-store.ts';

export interface RemakeParts {
  readonly sql: Sql;
  readonly inSql: RecordingTransactions;
  readonly inTransaction: InCaseTransaction;
  readonly macs: CaseParts['macs'] & { readonly venues: KeyedHasher; readonly keys: KeyedHasher };
  readonly decisionMacs: KeyedHasher;
  readonly versions: LedgerVersions;
  /** Ids of the server secrets of this process; the first makes. */
  readonly secretIds: readonly string[];
  /** Told of a row that is not what was written: it stays as it is. */
  readonly onRefused: (what: string, error: unknown) => void;
  /** Asked before each page. */
  readonly mayGoOn: () => Promise<boolean>;
}

const ROWS_AT_ONCE = 500;
/** While so many records are on their way to the ledger, no more are added. */
const MOST_WAITING = 2000;
const TRANSACTION_WITHIN_MS = 2000;

/**
 * Has every row that an earlier server secret authenticated authenticated by the one that makes now, so that the earlier one
 * can be taken away. Each row is a transaction of its own that first checks it as a change of it would; what fails that is
 * left as it is. A process that dies leaves rows of either secret, which all processes believe, and the next run goes on.
 * Rows whose MAC is in their ledger record become a next version there; the others keep theirs.
 *
 * @returns how many rows were remade, and whether it came to the end.
 */
export async function remakeMacs(parts: RemakeParts): Promise<{ readonly remade: number; readonly isDone: boolean }> {
  const earlier = parts.secretIds.slice(1);
  let remade = 0;
  if (earlier.length === 0) return { remade, isDone: true };
  for (const source of SOURCES) {
    for (let after: readonly string[] = ['', '']; ;) {
      if (!(await parts.mayGoOn()) || (await isOutboxFull(parts.sql))) return { remade, isDone: false };
      const rows = await parts.sql.query<Place>({ text: source.text, values: [...after, ROWS_AT_ONCE] });
      for (const { place } of rows.filter(({ secrets }) => secrets.some((id) => earlier.includes(id))))
        remade += await remakeRow(parts, source, place);
      if (rows.length < ROWS_AT_ONCE) break;
      after = rows.at(-1)!.place;
    }
  }
  return { remade, isDone: true };
}

interface Place {
  readonly place: string[];
  readonly secrets: string[];
}

async function remakeRow(parts: RemakeParts, { what, remake }: Source, place: readonly string[]): Promise<0 | 1> {
  try {
    await remake(parts, place);
    return 1;
  } catch (error) {
    if (error instanceof DatabaseUnavailableError) throw error;
    parts.onRefused(`${what} ${place.join(' ').trim()}`, error);
    return 0;
  }
}

export async function isOutboxFull(sql: Sql): Promise<boolean> {
  const text = 'SELECT count(*) AS waiting FROM (SELECT FROM gate.outbox LIMIT $1) o';
  const [row] = await sql.query<{ waiting: string }>({ text, values: [MOST_WAITING] });
  return Number(row?.waiting) >= MOST_WAITING;
}

interface Source {
  readonly what: string;
  /** A page of rows behind the place ($1, $2), $3 at most: the place of each, and the secrets that made its MACs. */
  readonly text: string;
  /** @throws Error for a row that is not what was written. */
  readonly remake: (parts: RemakeParts, place: readonly string[]) => Promise<void>;
}

type RowParts = Pick<RemakeParts, 'macs' | 'versions'>;

interface Remade {
  readonly place: readonly string[];
  readonly urgency: Urgency;
}

/**
 * Makes a next version of a row, otherwise the same. Nothing happens where there is none.
 * @throws Error for a row that is not what was written.
 */
export const REMAKE = {
  async key({ macs, versions }: RowParts, sql: RecordingSql, { place: [id = ''], urgency }: Remade): Promise<void> {
    const version = await remakeKey({ macs: macs.keys, versions }, sql, { id, urgency });
    await enterAnchors(sql, versions, { name: keyName(id), version, members: { key_id: id } });
  },
  async venue({ macs: { venues: macs }, versions }: RowParts, sql: RecordingSql, remade: Remade): Promise<void> {
    const [environment = '', venueId = ''] = remade.place;
    const venue = await lockVenue(sql, { environment, venueId }, { macs, versions });
    if (venue === undefined) return;
    const next = { ...venue, recordVersion: venue.recordVersion + 1 };
    await saveVenue(sql, next, macs, remade.urgency);
    const members = { environment, venue_id: venueId };
    await enterAnchors(sql, versions, { name: venueName(venue), version: next.recordVersion, members });
  },
  async policy({ macs: { policies: macs }, versions }: RowParts, sql: RecordingSql, remade: Remade): Promise<void> {
    const [environment = '', policyVersion = ''] = remade.place;
    const policy = await lockPolicy(sql, { environment, policyVersion, lock: 'FOR UPDATE' }, { macs, versions });
    if (policy === undefined) return;
    const next = { ...policy, recordVersion: policy.recordVersion + 1 };
    await savePolicy(sql, next, macs, remade.urgency);
    const members = { environment, policy_version: policyVersion };
    await enterAnchors(sql, versions, { name: policyName(policy), version: next.recordVersion, members });
  },
};

const inRow = (parts: RemakeParts, work: (sql: RecordingSql) => Promise<void>): Promise<void> =>
  parts.inSql(work, { deadlineMs: TRANSACTION_WITHIN_MS });

/** The gate's own first: what is authenticated soonest is what lets people in. */
const SOURCES: readonly Source[] = [
  {
    what: 'key',
    // One that has ended opens nothing, whoever authenticated it.
    text: `SELECT ARRAY[id, ''] AS place,
             CASE WHEN revoked_at IS NULL THEN ARRAY[split_part(grants->>'mac', ':', 1)] ELSE '{}' END AS secrets
             FROM gate.api_keys WHERE (id, '') > ($1, $2) ORDER BY id LIMIT $3`,
    remake: (parts, place) => inRow(parts, (sql) => REMAKE.key(parts, sql, { place, urgency: 'later' })),
  },
  {
    what: 'venue',
    text: `SELECT ARRAY[environment, venue_id] AS place, ARRAY[split_part(mac, ':', 1)] AS secrets FROM gate.venues
            WHERE (environment, venue_id) > ($1, $2) ORDER BY environment, venue_id LIMIT $3`,
    remake: (parts, place) => inRow(parts, (sql) => REMAKE.venue(parts, sql, { place, urgency: 'later' })),
  },
  {
    what: 'policy version',
    text: `SELECT ARRAY[environment, policy_version] AS place, ARRAY[split_part(mac, ':', 1)] AS secrets FROM gate.policies
            WHERE (environment, policy_version) > ($1, $2) ORDER BY environment, policy_version LIMIT $3`,
    remake: (parts, place) => inRow(parts, (sql) => REMAKE.policy(parts, sql, { place, urgency: 'later' })),
  },
  {
    what: 'subject',
    text: `SELECT ARRAY[environment, subject_ref] AS place, ARRAY[split_part(mac, ':', 1)] AS secrets FROM gate.eligibility
            WHERE (environment, subject_ref) > ($1, $2) ORDER BY environment, subject_ref LIMIT $3`,
    remake: (parts, [environment = '', subjectRef = '']) =>
      inRow(parts, (sql) => remakeSubject(parts, sql, { environment, subjectRef })),
  },
  {
    what: 'case',
    // With those of what was decided in it.
    text: `SELECT ARRAY[environment, case_id] AS place, ARRAY[split_part(mac, ':', 1)] ||
             ARRAY(SELECT split_part(d.mac, ':', 1) FROM gate.decisions d WHERE d.case_id = c.case_id) AS secrets
             FROM gate.cases c WHERE case_id > $2 AND $1::text IS NOT NULL ORDER BY case_id LIMIT $3`,
    remake: remakeCase,
  },
];

/** Its ledger record holds the document, which stays; under the id of the secret that makes now too. */
async function remakeSubject(
  { macs: { eligibility: macs }, versions }: RemakeParts,
  sql: RecordingSql,
  id: { readonly environment: string; readonly subjectRef: string },
): Promise<void> {
  const stored = await lockEligibility(sql, { macs, versions }, id);
  if (stored.kind !== 'record') throw new Error('The record of the subject is not intact.');
  const { environment, subject_ref: subjectRef, record_version: version, mac, document } = rowOf(stored.record, macs);
  await sql.query({
    text: `UPDATE gate.eligibility SET mac = $4
            WHERE environment = $1 AND subject_ref = $2 AND record_version = $3`,
    values: [environment, subjectRef, version, mac],
  });
  const members = { environment, subject_ref: subjectRef };
  await enterAnchors(sql, versions, { name: eligibilityName(id), version, members });
  await sql.enter(eligibilityVersion(stored.record, document), 'later');
}

/** A case and what was decided in it. */
async function remakeCase(
  { inTransaction, decisionMacs }: RemakeParts,
  [environment = '', caseId = '']: readonly string[],
): Promise<void> {
  await inTransaction(async (tx, sql) => {
    const record = await tx.lockCase(environment, caseId);
    if (record === undefined) return;
    await tx.saveCase(record);
    const attachments = await tx.attachments(caseId);
    for (const decision of await tx.decisions(caseId)) {
      if (decision.mac === '' || decision.mac.startsWith(`${decisionMacs.currentId}:`)) continue;
      const document = sealDocument(record, decision, attachments);
      if (!isDecided(document, decision, decisionMacs)) throw new Error(`The case ${caseId} is not what was decided.`);
      await sql.query({
        text: 'UPDATE gate.decisions SET mac = $2 WHERE decision_id = $1',
        values: [decision.decisionId, decisionMac(document, decisionMacs)],
      });
    }
  });
}

/**
 * What the ledger holds under ids of an earlier secret cannot be found without it. So that it is still known that there were
 * versions before, and how many, some of them are entered under ids of this one: that they were there, and are over.
 */
async function enterAnchors(
  sql: RecordingSql,
  versions: LedgerVersions,
  { name, version, members }: { name: readonly string[]; version: number | undefined; members: Record<string, string> },
): Promise<void> {
  const anchors: VersionedRecord[] = [];
  for (let at = 1; at < (version ?? 0); at = at === 1 ? VERSIONS_AT_ONCE : at + VERSIONS_AT_ONCE)
    anchors.push(versionOfRow(name, at, { ...members, carried_over: true }));
  const ids = anchors.map((record) => versionIds(versions.recordIds, name, record.version)[0]!);
  if (ids.length === 0) return;
  const held = await heldIn(sql, versions.target.channel, ids);
  const text = 'SELECT record_id FROM gate.outbox WHERE record_id = ANY ($1)';
  const waiting = new Set(
    (await sql.query<{ record_id: string }>({ text, values: [ids] })).map((row) => row.record_id),
  );
  for (const [at, anchor] of anchors.entries())
    if (!held.has(ids[at]!) && !waiting.has(ids[at]!)) await sql.enter(anchor, 'later');
}
