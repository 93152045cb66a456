import { DECISION_HEAD_TYPE, decisionHash, type DecisionHead } from '@sealgate/envelope';
import type { JsonValue } from '@sealgate/json';
import type { NoteVerifier } from '@sealgate/merkle';
import { reportReceipt } from './check-receipt.ts';
import { headIn, readDecision, type LoggedLine } from './read-decision.ts';
import { readReceiptFile, type ReceiptFile } from './receipt-file.ts';
import { type Report, startReport } from './report.ts';
import { listAt, objectAt, rootObject, stringOrNullAt, valueAt } from './shape.ts';

/** A decision of the gate, what links it to a head of its chain, and the head in the ledger with its proof. */
export interface DecisionFile {
  readonly name: string;
  readonly decision: LoggedLine;
  readonly prevHash: string | null;
  readonly following: readonly LoggedLine[];
  readonly head: DecisionHead;
  /** Of the head. */
  readonly receipt: ReceiptFile;
}

/** Parses `{decision, prev_hash, following, record, receipt, proof}` of the gate. @throws UnreadableError. */
export function readDecisionFile(name: string, value: JsonValue): DecisionFile {
  const root = rootObject(name, value);
  const following = listAt(root, 'following').map((one, index) =>
    readDecision({ where: `${name}#/following/${index}`, value: one }),
  );
  return {
    name,
    decision: readDecision({ where: `${name}#/decision`, value: valueAt(root, 'decision') }),
    prevHash: stringOrNullAt(root, 'prev_hash'),
    following,
    head: headIn(objectAt(objectAt(root, 'record'), 'data')),
    receipt: readReceiptFile(name, value),
  };
}

/**
 * Checks that a decision was made as it says: the head of its chain is in the ledger, and the hash of the decision leads
 * to the hash in the head by all decisions between them.
 */
export function checkDecision({ file, verifier }: { file: DecisionFile; verifier: NoteVerifier }): Report {
  const { name, decision, prevHash, following, head, receipt } = file;
  const report = startReport();
  reportReceipt(report, { file: receipt, verifier });
  report.equal('head', {
    ok: `The record ${receipt.receipt.id} is a head of decisions.`,
    failed: 'The record in the ledger is no head of decisions.',
    where: `${name}#/receipt/type`,
    expected: DECISION_HEAD_TYPE,
    found: receipt.receipt.type,
  });
  const links = [decision, ...following];
  const isInOrder = links.every(({ process, seq }, at) => process === head.process && seq === decision.seq + at);
  const isCovered = decision.seq >= head.first_seq && links.at(-1)?.seq === head.last_seq;
  report.equal('place', {
    ok: `It is decision ${decision.seq} of process ${head.process}; the head covers ${head.first_seq} to ${head.last_seq}.`,
    failed: 'A decision between this one and the head is missing, or of another process.',
    where: `${name}#/following`,
    expected: 'all of them, in order',
    found: isInOrder && isCovered ? 'all of them, in order' : `${links.length} decisions`,
  });
  report.equal('chain', {
    ok: `Its hash leads to that of the head by ${following.length} more decisions.`,
    failed: 'The decision, or one after it, is not what was decided: the hashes do not lead to that of the head.',
    where: `${name}#/decision`,
    expected: head.hash ?? 'none',
    found: links.reduce<string | null>((hash, link) => decisionHash(link, hash), prevHash) ?? 'none',
  });
  return report.finish(
    `Decision ${decision.decision_id}: ${decision.decision} (${decision.reason_codes.join(', ')}) for ${decision.subject_ref ?? 'no subject'} at ` +
      `${decision.venue_id ?? 'no venue'}, ${decision.evaluated_at}. It is in the chain whose head was written to the ledger at ${receipt.receipt.at}.`,
  );
}
