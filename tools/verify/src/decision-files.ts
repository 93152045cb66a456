import { DECISION_HEAD_TYPE, type DecisionHead } from '@sealgate/envelope';
import type { NoteVerifier } from '@sealgate/merkle';
import { reportReceipt } from './check-receipt.ts';
import type { SavedHead } from './heads-in-log.ts';
import { type NdjsonLine, readNdjson } from './read-file.ts';
import { headIn } from './read-decision.ts';
import { readReceiptFile } from './receipt-file.ts';
import { type Reporter, startReport } from './report.ts';
import { objectAt, rootObject } from './shape.ts';

export interface HeadsInput {
  /** NDJSON of `{record, receipt, proof}`, one head per line. */
  readonly heads: string;
  readonly verifier: NoteVerifier;
  /** The required channel of the heads. */
  readonly channel?: string | undefined;
  /** RFC 3339: older heads are excluded, and so are decisions before the first remaining one. */
  readonly from?: string | undefined;
}

/**
 * The heads of each process in order, and all saved heads, including those before `from`; heads that are not contiguous
 * are faults.
 */
export async function readHeads(
  report: Reporter,
  input: HeadsInput,
): Promise<{ readonly chains: Map<string, DecisionHead[]>; readonly saved: readonly SavedHead[] }> {
  const saved: SavedHead[] = [];
  const byProcess = new Map<string, { head: DecisionHead; where: string }[]>();
  for await (const { where, value } of readNdjson(input.heads)) {
    const sub = startReport();
    const { head, receipt } = readHead(sub, { where, value }, input);
    report.copyFailures(sub);
    if (head !== undefined) saved.push({ receipt, where });
    if (head === undefined || (input.from !== undefined && Date.parse(head.at) < Date.parse(input.from))) continue;
    const heads = byProcess.get(head.process) ?? [];
    heads.push({ head, where });
    byProcess.set(head.process, heads);
  }
  const chains = new Map<string, DecisionHead[]>();
  for (const [process, found] of byProcess) {
    const sorted = found.toSorted((a, b) => a.head.number - b.head.number);
    checkOrder(report, { process, heads: sorted, isWhole: input.from === undefined });
    chains.set(
      process,
      sorted.map(({ head }) => head),
    );
  }
  if (chains.size === 0) report.failed('heads', { detail: 'There are no heads to compare with.', where: input.heads });
  return { chains, saved };
}

/** A head in the ledger, with its receipt; undefined, with a failed step, for an invalid line. */
function readHead(report: Reporter, { where, value }: NdjsonLine, { verifier, channel }: HeadsInput) {
  const file = readReceiptFile(where, value);
  const { receipt } = file;
  reportReceipt(report, { file, verifier });
  const [content] = file.contents;
  if (receipt.type !== DECISION_HEAD_TYPE || content === undefined) {
    report.failed('heads', {
      detail: `The record ${receipt.id} is no head of decisions.`,
      where,
      expected: DECISION_HEAD_TYPE,
      found: receipt.type,
    });
    return { head: undefined, receipt };
  }
  if (channel !== undefined && receipt.channel !== channel) {
    report.failed('heads', {
      detail: 'The head is in another channel.',
      where,
      expected: channel,
      found: receipt.channel,
    });
  }
  return { head: headIn(objectAt(objectAt(rootObject(where, value), 'record'), 'data')), receipt };
}

function checkOrder(
  report: Reporter,
  {
    process,
    heads,
    isWhole,
  }: { process: string; heads: readonly { head: DecisionHead; where: string }[]; isWhole: boolean },
): void {
  let before = isWhole ? { number: 0, last_seq: 0, hash: null as string | null, ended: false } : undefined;
  for (const { head, where } of heads) {
    const fail = (detail: string) => report.failed('heads', { detail, where });
    if (before?.number === head.number) fail(`Head ${head.number} of process ${process} is there more than once.`);
    else if (before !== undefined && head.number !== before.number + 1)
      fail(`Heads ${before.number + 1} to ${head.number - 1} of process ${process} are missing.`);
    else if (before?.ended === true) fail(`Head ${head.number} of process ${process} comes after its last one.`);
    else if (before !== undefined && (head.first_seq !== before.last_seq + 1 || head.prev_hash !== before.hash))
      fail(`Head ${head.number} of process ${process} does not go on where the one before it ends.`);
    before = head;
  }
}
