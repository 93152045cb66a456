import type { Log } from '@sealgate/observability';
import { DatabaseUnavailableError, type Sql } from '@sealgate/storage';
import { markUnconfirmed, type EligibilityPorts } from '../domain/change-eligibility.ts';
import { newestEpoch, type DeclaredLoss } from '../domain/declared-losses.ts';
import { sealAgain } from '../domain/seal-case.ts';
import { versionIds, versionOfRow } from '../domain/versioned-record.ts';
import type { InCaseTransaction } from './case-transaction.ts';
import type { RecordingTransactions } from './ledger-writer.ts';
import type { LossProgress } from './loss-progress.ts';
import { isOutboxFull, remakeRow, type RowParts } from './remake-macs.ts';
import type { SeenVersions } from './ledger-versions.ts';
import {
  membersAt,
  nameAt,
  pageText,
  SIGNED_TABLES,
  versionsText,
  type AtPlace,
  type SignedTable,
} from './signed-tables.ts';

export interface ReviewParts extends RowParts {
  readonly sql: Sql;
  readonly inSql: RecordingTransactions;
  readonly inTransaction: InCaseTransaction;
  readonly eligibility: EligibilityPorts;
  readonly seen: SeenVersions;
  readonly losses: () => Promise<readonly DeclaredLoss[]>;
  /** Whether seals are in the log that lost records; false where they are on Fabric. */
  readonly sealsAreInLog: boolean;
  readonly progress: LossProgress;
  /** Rows per page; progress is saved after each. */
  readonly pageRows: number;
  readonly now: () => number;
  /** Called for a row that fails its integrity check and stays unchanged. */
  readonly onRefused: (what: string, error: unknown) => void;
  readonly log: Log;
}

const SEEN_AT_ONCE = 500;
const TRANSACTION_WITHIN_MS = 2000;

/**
 * Reviews all rows once a loss of ledger records was declared. The gate does not wait for it: it denies by the rows
 * themselves. The review makes that permanent, in rows and ledger, and visible in lists:
 *
 * - a subject that needs a confirmation gets a version that says so;
 * - a version that this process has seen, and that the tables no longer hold, is entered as lost, so that no process
 *   accepts an earlier row;
 * - a key, venue or policy version whose ledger record is gone gets a next version with the same content;
 * - a seal whose ledger record is gone is written again.
 *
 * It can be interrupted anywhere; the next process continues after the last reviewed page. Several processes share the
 * parts. Each step checks in its own transaction whether there is still something to do. Returns a function to be
 * called repeatedly; it does nothing until a new loss is declared.
 */
export function lossReview(parts: ReviewParts): () => Promise<void> {
  let seenReviewed = 0;
  let isReviewed = 0;
  return async () => {
    const losses = await parts.losses();
    const epoch = newestEpoch(losses);
    if (epoch > seenReviewed) {
      // Before the channel resumes, because it reads only the tables.
      const versions = await reviewSeen(parts);
      seenReviewed = epoch;
      if (versions > 0) parts.log.warn('lost_versions_seen', { epoch, versions });
    }
    if (epoch <= isReviewed) return;
    if (!(await wasReviewed(parts.sql, epoch))) {
      await reviewAll(parts, losses);
      const counts = await parts.progress.finish(epoch, PARTS, new Date(parts.now()));
      // Other processes work on some parts; if they stop, this process takes over.
      if (counts === undefined) return;
      const seals = counts.get(SEALS) ?? 0;
      const rows = [...counts.values()].reduce((sum, count) => sum + count, -seals);
      parts.log.warn('declared_loss_reviewed', { epoch, rows, seals });
    }
    isReviewed = epoch;
  };
}

async function wasReviewed(sql: Sql, epoch: number): Promise<boolean> {
  const text = 'SELECT 1 FROM gate.reviewed_losses WHERE epoch = $1';
  return (await sql.query({ text, values: [epoch] })).length > 0;
}

interface Place extends AtPlace {
  readonly version: number;
}

/** Subjects first: the gate denies them until they are confirmed. */
const TABLES = SIGNED_TABLES.toReversed();

/** Whether a row must be reviewed whatever the ledger holds: its subject changed after $4 and lacks the text $5. */
const dueOf = ({ kind }: SignedTable) =>
  kind === 'eligibility' ? 'changed_at > $4 AND strpos(document, $5) = 0' : 'false';

const SEALS = 'seal';
const PARTS = [...TABLES.map(({ kind }) => kind), SEALS];

/** Reviews versions that this process has seen and that are later than those in the tables. Returns how many. */
async function reviewSeen(parts: ReviewParts): Promise<number> {
  const all = parts.seen.all().map(({ name, version }) => ({ name: name.split(' '), version }));
  let lost = 0;
  let away: unknown;
  for (const table of TABLES) {
    const seen = all.filter(({ name: [kind] }) => kind === table.kind);
    for (let first = 0; first < seen.length; first += SEEN_AT_ONCE) {
      const some = seen.slice(first, first + SEEN_AT_ONCE);
      const places = some.map(({ name: [, one = '', other = ''] }) => [one, other]);
      const values = [places.map(([one]) => one), places.map(([, other]) => other)];
      const rows = await parts.sql.query<Place>({ text: versionsText(table), values });
      const stored = new Map(rows.map(({ place, version }) => [place.join(' '), version]));
      for (const [at, { version }] of some.entries()) {
        const place = places[at]!;
        const found = stored.get(place.join(' ')) ?? 0;
        if (found >= version) continue;
        // A failure of the ledger does not stop the others.
        const settled = settle(parts, table, { place, version }).catch((error: unknown) => void (away ??= error));
        if ((await settled) === true) lost += 1;
      }
    }
  }
  if (away !== undefined) throw new Error('Some seen versions could not be reviewed yet.', { cause: away });
  return lost;
}

/**
 * Reviews every row whose version the ledger lost, every subject changed since, and every seal that the ledger lost.
 */
async function reviewAll(parts: ReviewParts, losses: readonly DeclaredLoss[]): Promise<void> {
  const epoch = newestEpoch(losses);
  const since = new Date(Math.min(...losses.map(({ keptAtMs }) => keptAtMs)));
  // Marks reviewed rows. A forged mark is not trusted: it only hides the row from the list.
  const isReviewed = `"loss":{"epoch":${epoch},`;
  for (const table of TABLES) {
    const more = table.kind === 'eligibility' ? [since, isReviewed] : [];
    const text = pageText(table, `${table.version} AS version, ${dueOf(table)} AS due`);
    const of = { epoch, part: table.kind, text, more };
    await inPages<Place & { due: boolean }>(parts, of, async (page) => {
      const named = page.filter(({ version }) => version > 0);
      const idsOf = ({ place, version }: Place) => versionIds(parts.versions.recordIds, nameAt(table, place), version);
      const missing = await parts.versions.missing(parts.sql, named, idsOf);
      let rows = 0;
      for (const each of page.filter((one) => one.due || missing.has(one)))
        if (await settle(parts, table, each)) rows += 1;
      return rows;
    });
  }
  const text = `SELECT ARRAY[s.case_id, s.policy_version] AS place, c.environment, s.ledger_record_id AS id
      FROM gate.seals s JOIN gate.cases c USING (case_id) WHERE s.status = 'sealed'
       AND (s.case_id, s.policy_version) > ($1, $2) ORDER BY s.case_id, s.policy_version LIMIT $3`;
  const idsOfSeal = ({ id }: SealPlace) => [id];
  await inPages<SealPlace>(parts, { epoch, part: SEALS, text, more: [] }, async (page) => {
    let seals = 0;
    if (!parts.sealsAreInLog) return seals;
    for (const { environment, place } of await parts.versions.missing(parts.sql, page, idsOfSeal)) {
      const [caseId = '', policyVersion = ''] = place;
      const order = { environment, caseId, policyVersion };
      const again = () => parts.inTransaction((tx) => sealAgain(tx, parts.eligibility, order));
      if (await tried(parts, `seal ${caseId}`, again)) seals += 1;
    }
    return seals;
  });
}

interface SealPlace extends AtPlace {
  readonly environment: string;
  readonly id: string;
}

interface PartOfReview {
  readonly epoch: number;
  readonly part: string;
  readonly text: string;
  readonly more: readonly unknown[];
}

/** `work` returns the number of rows of a page that it changed. */
async function inPages<Row extends AtPlace>(
  { sql, progress, pageRows }: ReviewParts,
  { epoch, part, text, more }: PartOfReview,
  work: (page: readonly Row[]) => Promise<number>,
): Promise<void> {
  for (let after = await progress.claim(epoch, part); after !== undefined;) {
    if (await isOutboxFull(sql)) throw new Error('The outbox is full; the review continues later.');
    const page = await sql.query<Row>({ text, values: [...after, pageRows, ...more] });
    const changed = await work(page);
    const place = page.at(-1)?.place ?? after;
    after = await progress.keep(epoch, part, { place, changed, isLast: page.length < pageRows });
  }
}

/** True where a version was settled, as far as is known. */
async function settle(parts: ReviewParts, table: SignedTable, { place, version }: Place): Promise<boolean> {
  const { kind } = table;
  const [one = '', other = ''] = place;
  return tried(parts, `${kind} ${place.join(' ').trim()}`, async () => {
    if (kind === 'eligibility') {
      const subject = { environment: one, subjectRef: other, seenVersion: version };
      return parts.inTransaction((tx) => markUnconfirmed(tx, parts.eligibility, subject));
    }
    return parts.inSql(
      async (sql) => {
        const { versions } = parts;
        const name = nameAt(table, place);
        const [row] = await sql.query<Place>({ text: versionsText(table), values: [[one], [other]] });
        const stored = row?.version ?? 0;
        const idsOf = (of: number) => versionIds(versions.recordIds, name, of);
        // Another process may have settled it meanwhile.
        const isGone = (await versions.missing(sql, [Math.max(stored, version)], idsOf)).size > 0;
        if (!isGone) return false;
        const newest = (await versions.newest(sql, name)) ?? 0;
        if (stored >= version) await remakeRow(parts, sql, { table, place, urgency: 'soon' });
        // Otherwise a row of one of these versions could be restored and the ledger would know of no later one.
        for (let lost = newest + 1; lost <= Math.max(stored, version); lost += 1)
          await sql.enter(versionOfRow(name, lost, { ...membersAt(table, place), lost: true }), 'soon');
        return true;
      },
      { deadlineMs: TRANSACTION_WITHIN_MS },
    );
  });
}

/** A row that fails its integrity check stays unchanged and does not stop the review. */
async function tried(parts: ReviewParts, what: string, work: () => Promise<boolean | void>): Promise<boolean> {
  try {
    return (await work()) !== false;
  } catch (error) {
    if (error instanceof DatabaseUnavailableError) throw error;
    parts.onRefused(what, error);
    return false;
  }
}
