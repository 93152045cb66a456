import type { Asked } from '../history.ts';
import { Findings, type Check } from './check.ts';
import { membersOf } from './canonical.ts';
import type { Databases } from './databases.ts';
import { outcomeOf } from './keyed-writes.ts';
import { LedgerCopies } from './ledger-copies.ts';

interface Told {
  readonly number: number;
  readonly as: string;
}

interface CaseRow {
  readonly case_id: string;
  readonly environment: string;
  readonly subject_ref: string;
  readonly status: string;
}

interface SealRow {
  readonly case_id: string;
  readonly policy_version: string;
  readonly ledger_record_id: string;
  readonly document: string;
  readonly status: string;
}

const SEAL_TYPE = 'case.seal';
const HEAD_TYPE = 'gate.decisions';

/** Acknowledged cases, decisions and revocations are in the rows; each seal is one record of the ledger, with its document. */
export function cases(): Check {
  const findings = new Findings('every acknowledged case, decision, seal and revocation is there once and complete');
  const opened = new Map<string, Told & { readonly subject: string }>();
  const keys = new Map<string, Set<string>>();
  const decided = new Map<string, Told>();
  const sealed = new Map<string, Told & { readonly recordId: string }>();
  const revoked = new Map<string, Told>();
  const records = new LedgerCopies();
  const acts: Readonly<Record<string, (asked: Asked, number: number) => void>> = {
    'open-case'({ text, as, sent, key = '' }, number) {
      const { case_id, subject_ref } = membersOf(text);
      const subject = sent?.subject ?? String(subject_ref);
      opened.set(String(case_id), { number, as, subject });
      const name = `${as} ${subject}`;
      keys.set(name, (keys.get(name) ?? new Set()).add(key));
    },
    decide({ text, as }, number) {
      decided.set(String(membersOf(text)['decision_id']), { number, as });
    },
    seal({ text, as, key = '' }, number) {
      const recordId = String(membersOf(text)['ledger_record_id']);
      const known = sealed.get(key);
      if (known !== undefined && known.recordId !== recordId)
        findings.add(`lines ${known.number} and ${number}: two ledger records for the seal ${key}`);
      sealed.set(key, known ?? { number, as, recordId });
    },
    revoke({ as, sent }, number) {
      revoked.set(`${as} ${sent?.subject}`, { number, as });
    },
  };
  return {
    line(line, number) {
      if (line.is !== 'asked' || outcomeOf(line) !== 'written') return;
      acts[line.act]?.(line, number);
    },
    record(record) {
      if (record.type === SEAL_TYPE) records.add(record);
    },
    async close(databases) {
      if (!databases.has('case-gate')) return findings.verdict();
      await judgeCases(databases, findings, { opened, keys });
      await judgeDecisions(databases, findings, decided);
      await judgeSeals(databases, findings, { sealed, records });
      await judgeRevocations(databases, findings, revoked);
      const left = await databases.rows<{ record_id: string; record_type: string }>(
        'case-gate',
        'SELECT record_id, record_type FROM gate.outbox',
      );
      // A running gate states the head of its decisions from time to time.
      const waiting = left.filter(({ record_type }) => record_type !== HEAD_TYPE);
      for (const { record_id } of waiting)
        findings.add(`the record ${record_id} of the gate still waits for the ledger`);
      return findings.verdict();
    },
  };
}

async function judgeCases(
  databases: Databases,
  findings: Findings,
  { opened, keys }: { opened: Map<string, Told & { subject: string }>; keys: Map<string, Set<string>> },
): Promise<void> {
  const rows = await databases.rows<CaseRow>(
    'case-gate',
    'SELECT case_id, environment, subject_ref, status FROM gate.cases',
  );
  const byId = new Map(rows.map((row) => [row.case_id, row]));
  for (const [caseId, { number, as, subject }] of opened) {
    const row = byId.get(caseId);
    findings.judge(
      (row === undefined && `line ${number}: ${caseId} was acknowledged and is not there`) ||
        (row !== undefined &&
          (row.environment !== as || row.subject_ref !== subject) &&
          `line ${number}: ${caseId} is not of ${as} and ${subject}`),
    );
  }
  for (const [name, of] of Map.groupBy(rows, (row) => `${row.environment} ${row.subject_ref}`)) {
    const asked = keys.get(name)?.size ?? 0;
    if (asked > 0 && of.length > asked) findings.add(`${name} has ${of.length} cases, opened under ${asked} keys`);
  }
  for (const { case_id, status } of rows)
    if (status === 'sealing') findings.add(`the seal of ${case_id} was begun and not completed`);
}

async function judgeDecisions(databases: Databases, findings: Findings, decided: Map<string, Told>): Promise<void> {
  const rows = await databases.rows<{ decision_id: string }>('case-gate', 'SELECT decision_id FROM gate.decisions');
  const ids = new Set(rows.map((row) => row.decision_id));
  for (const [id, { number }] of decided)
    findings.judge(!ids.has(id) && `line ${number}: the decision ${id} was acknowledged and is not there`);
}

async function judgeSeals(
  databases: Databases,
  findings: Findings,
  { sealed, records }: { sealed: Map<string, Told & { recordId: string }>; records: LedgerCopies },
): Promise<void> {
  const rows = await databases.rows<SealRow>(
    'case-gate',
    'SELECT case_id, policy_version, ledger_record_id, document, status FROM gate.seals',
  );
  const ids = new Map(rows.map((row) => [`${row.case_id}:${row.policy_version}`, row.ledger_record_id]));
  for (const [key, { number, recordId }] of sealed)
    findings.judge(
      ids.get(key) !== recordId && `line ${number}: the seal ${key} was told to be ${recordId}, and is not`,
    );
  for (const { case_id, ledger_record_id, document, status } of rows) {
    const what = `the seal of ${case_id}`;
    const breach = records.breachOf(what, ledger_record_id, document);
    findings.judge(status === 'sealed' ? breach : `${what} is ${status}`);
  }
  for (const id of records.left) findings.add(`the ledger has a seal ${id} of which the gate knows nothing`);
}

async function judgeRevocations(databases: Databases, findings: Findings, revoked: Map<string, Told>): Promise<void> {
  const rows = await databases.rows<{ name: string }>(
    'case-gate',
    `SELECT environment || ' ' || subject_ref AS name FROM gate.eligibility WHERE status = 'revoked'`,
  );
  const there = new Set(rows.map(({ name }) => name));
  for (const [name, { number }] of revoked)
    findings.judge(!there.has(name) && `line ${number}: the revocation of ${name} was answered and is not there`);
}
