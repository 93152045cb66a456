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

/** Checks that the response to the sender matches the proof, and checks the proof itself. Never throws. */
export function checkAnswer({ records, file, verifier }: AnswerInput): Report {
  const report = startReport();
  const { receipt, proof } = file;
  const { id, channel, transactionId, epoch } = receipt;
  const proved = { id, channel, transactionId, index: proof.index, epoch, leafHash: proof.leafHash };
  reportAnswered(report, records, { where: `${file.name}#/receipt`, ...proved });
  const checked = reportReceipt(report, { file, verifier });
  return report.finish(`What was acknowledged is what was written. ${checked}`);
}

/** What a proof is about, by the members that an answer has too. */
type Proved = Answered & Readonly<Record<string, string | number | undefined>>;

/** Whether the answer acknowledged just that record; of one record in a response, even if its id or channel differs. */
export function reportAnswered(report: Reporter, records: readonly Answered[], { where, ...proved }: Proved): void {
  const matching = records.find(({ id, channel }) => id === proved.id && channel === proved.channel);
  const answered = matching ?? (records.length === 1 ? records[0] : undefined);
  if (answered === undefined)
    return report.failed('answer', {
      detail: 'The answer acknowledges no such record.',
      where,
      expected: records.map(({ id, channel }) => `${id} in ${channel}`).join(', '),
      found: `${proved.id} in ${proved.channel}`,
    });
  const found: Readonly<Record<string, unknown>> = { ...answered };
  const different = Object.keys(proved).filter((member) => found[member] !== proved[member]);
  for (const member of different) {
    report.failed('answer', {
      detail: `The answer acknowledged another ${member} than the proof is about.`,
      where: `${answered.where}/${member}`,
      expected: String(proved[member]),
      found: String(found[member]),
    });
  }
  const members = Object.keys(proved).join(', ');
  if (different.length === 0) report.ok('answer', `The answer has the ${members} that the proof is about.`);
}

/** An entry of `records` in the response to a write, of any ledger. */
export interface Answered {
  readonly where: string;
  readonly id: string;
  readonly transactionId: string;
  readonly channel: string;
}

/** An entry of a ledger with a public log. */
export interface AnsweredRecord extends Answered {
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

/** The `records` of a response to a write on any ledger. @throws UnreadableError if it is not one. */
export const readAnswered = (name: string, value: JsonValue): readonly Answered[] =>
  placesOf(rootObject(name, value)).map(answeredAt);

export function answeredRecords(root: Place): readonly AnsweredRecord[] {
  return placesOf(root).map((place) => {
    if (!hasMember(place, 'index') || !hasMember(place, 'leafHash'))
      throw new UnreadableError(
        `${place.where} has no index and leafHash: this ledger keeps no log that can be checked here.`,
      );
    return {
      ...answeredAt(place),
      index: numberAt(place, 'index'),
      ...epochAt(place),
      leafHash: stringAt(place, 'leafHash'),
    };
  });
}

const placesOf = (root: Place): readonly Place[] =>
  listAt(root, 'records').map((record, position) => {
    const where = `${root.where}/records/${position}`;
    if (!isObject(record)) throw new UnreadableError(`${where} is not an object.`);
    return { where, object: record };
  });

const answeredAt = (place: Place): Answered => ({
  where: place.where,
  id: stringAt(place, 'id'),
  transactionId: stringAt(place, 'transactionId'),
  channel: stringAt(place, 'channel'),
});
