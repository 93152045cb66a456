import type { NoteVerifier } from '@sealgate/merkle';
import { reportReceipt } from './check-receipt.ts';
import type { ReceiptFile } from './receipt-file.ts';
import { startReport } from './report.ts';
import type { Report, Reporter } from './report.ts';
import type { AnsweredRecord } from './write-answer.ts';

export interface AnswerInput {
  /** What the gateway answered to the write. */
  readonly records: readonly AnsweredRecord[];
  /** The proof of one of its records, fetched later. */
  readonly file: ReceiptFile;
  readonly verifier: NoteVerifier;
}

const COMPARED = ['id', 'channel', 'transactionId', 'index', 'epoch', 'leafHash'] as const;

/** Checks that what was acknowledged to the sender is what the proof proves, and the proof itself. Never throws. */
export function checkAnswer({ records, file, verifier }: AnswerInput): Report {
  const report = startReport();
  const answered = answeredFor(records, file);
  if (answered === undefined) {
    report.failed('answer', {
      detail: 'The answer acknowledges no such record.',
      where: `${file.name}#/receipt`,
      expected: records.map(({ id, channel }) => `${id} in ${channel}`).join(', '),
      found: `${file.receipt.id} in ${file.receipt.channel}`,
    });
  } else compare(report, answered, file);
  const proved = reportReceipt(report, { file, verifier });
  return report.finish(`What was acknowledged is what was written. ${proved}`);
}

/** The record the proof is of; the only record of an answer is meant even where its id or channel disagrees. */
function answeredFor(records: readonly AnsweredRecord[], { receipt }: ReceiptFile): AnsweredRecord | undefined {
  const matching = records.find(({ id, channel }) => id === receipt.id && channel === receipt.channel);
  return matching ?? (records.length === 1 ? records[0] : undefined);
}

function compare(report: Reporter, answered: AnsweredRecord, { receipt, proof }: ReceiptFile): void {
  const proved = { ...receipt, index: proof.index, leafHash: proof.leafHash };
  const different = COMPARED.filter((member) => answered[member] !== proved[member]);
  for (const member of different) {
    report.failed('answer', {
      detail: `The answer acknowledged another ${member} than the proof is about.`,
      where: `${answered.where}/${member}`,
      expected: String(proved[member]),
      found: String(answered[member]),
    });
  }
  if (different.length === 0) report.ok('answer', `The answer has the ${COMPARED.join(', ')} that the proof is about.`);
}
