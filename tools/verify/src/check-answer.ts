import type { JsonValue } from '@sealgate/json';
import type { NoteVerifier } from '@sealgate/merkle';
import { reportReceipt } from './check-receipt.ts';
import { epochAt, type ReceiptFile } from './receipt-file.ts';
import { type Report, type Reporter, startReport } from './report.ts';
import { hasMember, isObject, listAt, numberAt, type Place, rootObject, stringAt, UnreadableError } from './shape.ts';

interface AnswerInput {
  /** The gateway's response to the write. */
  readonly records: readonly AnsweredRecord[];
  /** The proof of one of its records, fetched later. */
  readonly file: ReceiptFile;
  readonly verifier: NoteVerifier;
}

const COMPARED = ['id', 'channel', 'transactionId', 'index', 'epoch', 'leafHash'] as const;

/** Checks that the response to the sender matches the proof, and checks the proof itself. Never throws. */
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

/** The record of the proof; a single record in a response is used even if its id or channel differs. */
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

/** An entry of `records` in the response to a write. */
export interface AnsweredRecord {
  readonly where: string;
  readonly id: string;
  readonly transactionId: string;
  readonly channel: string;
  readonly index: number;
  readonly epoch?: number;
  readonly leafHash: string;
}

/**
 * The `records` of a response to a write. @throws UnreadableError if it is not one, or comes from a ledger without a
 * public log.
 */
export function readWriteAnswer(name: string, value: JsonValue): readonly AnsweredRecord[] {
  return answeredRecords(rootObject(name, value));
}

export function answeredRecords(root: Place): readonly AnsweredRecord[] {
  return listAt(root, 'records').map((record, position) => {
    const where = `${root.where}/records/${position}`;
    if (!isObject(record)) throw new UnreadableError(`${where} is not an object.`);
    const place = { where, object: record };
    if (!hasMember(place, 'index') || !hasMember(place, 'leafHash')) {
      throw new UnreadableError(
        `${where} has no index and leafHash: this ledger keeps no log that can be checked here.`,
      );
    }
    return {
      where,
      id: stringAt(place, 'id'),
      transactionId: stringAt(place, 'transactionId'),
      channel: stringAt(place, 'channel'),
      index: numberAt(place, 'index'),
      ...epochAt(place),
      leafHash: stringAt(place, 'leafHash'),
    };
  });
}
