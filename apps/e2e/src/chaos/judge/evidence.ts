import { Findings, type Check } from './check.ts';
import { membersOf } from './canonical.ts';
import type { Databases } from './databases.ts';
import { outcomeOf } from './keyed-writes.ts';
import { LedgerCopies } from './ledger-copies.ts';

interface Told {
  readonly number: number;
  readonly id: string;
  readonly isApproved: boolean;
}

interface AnchorRow {
  readonly ledger_record_id: string;
  readonly evidence_id: string;
  readonly data: string;
  readonly state: string;
}

const ANCHOR_TYPE = 'evidence';

/** What was created is there; approved evidence has an anchor, and each anchor is one record of the ledger. */
export function evidence(): Check {
  const findings = new Findings('every acknowledged risk and evidence is there, and each approval anchored once');
  const told: Told[] = [];
  const records = new LedgerCopies();
  return {
    line(line, number) {
      if (line.is !== 'asked' || (line.act !== 'create' && line.act !== 'approve')) return;
      const isApproved = line.act === 'approve';
      if (outcomeOf(line) === 'written') told.push({ number, id: String(membersOf(line.text)['id']), isApproved });
    },
    record(record) {
      if (record.type === ANCHOR_TYPE && record.id.startsWith('ledger_rec_')) records.add(record);
    },
    async close(databases) {
      if (!databases.has('risk-partner')) return findings.verdict();
      const anchors = await databases.rows<AnchorRow>(
        'risk-partner',
        'SELECT ledger_record_id, evidence_id, data, state FROM risk.anchors',
      );
      await judgeTold(databases, findings, told, anchors);
      judgeAnchors(findings, anchors, records);
      return findings.verdict();
    },
  };
}

async function judgeTold(
  databases: Databases,
  findings: Findings,
  told: readonly Told[],
  anchors: readonly AnchorRow[],
): Promise<void> {
  const rows = await databases.rows<{ id: string }>('risk-partner', 'SELECT id FROM risk.resources');
  const ids = new Set(rows.map(({ id }) => id));
  const anchored = new Set(anchors.map(({ evidence_id }) => evidence_id));
  for (const { number, id, isApproved } of told) {
    const missing = isApproved && !anchored.has(id) ? `line ${number}: the approval of ${id} has no anchor` : undefined;
    findings.judge(ids.has(id) ? missing : `line ${number}: ${id} was acknowledged and is not there`);
  }
}

function judgeAnchors(findings: Findings, anchors: readonly AnchorRow[], records: LedgerCopies): void {
  for (const [id, { length }] of Map.groupBy(anchors, ({ evidence_id }) => evidence_id))
    if (length > 1) findings.add(`${id} has ${length} anchors`);
  for (const { ledger_record_id, evidence_id, data, state } of anchors) {
    const what = `the anchor of ${evidence_id}`;
    const breach = records.breachOf(what, ledger_record_id, data);
    findings.judge(['waiting', 'refused'].includes(state) ? `${what} is ${state}` : breach);
  }
  for (const id of records.left) findings.add(`the ledger has an anchor ${id} of which the risk partner knows nothing`);
}
