import {
  dataHashOf,
  decisionHash,
  DECISION_HEAD_TYPE,
  receiptEntry,
  type ChainedDecision,
  type DecisionHead,
} from '@sealgate/envelope';
import { bundleOf, bundlePath, generateNoteKey } from '@sealgate/merkle';
import { at, CHANNEL, directoryOf, sampleLog } from './sample-log.ts';

export type Line = ChainedDecision & { hash: string | null };

/** The decision log of one process with `count` decisions, chained as by the gate. */
export function linesOf(process: string, count: number, prevHash: string | null = null): Line[] {
  const lines: Line[] = [];
  for (let seq = 1; seq <= count; seq += 1) {
    const decision: ChainedDecision = {
      action: 'enter',
      decision: 'deny',
      decision_id: `gd_${process}_${seq}`,
      environment: 'live',
      key_id: 'key_1',
      evaluated_at: '2030-01-02T03:04:05.678Z',
      fail_closed: false,
      ledger_record_id: null,
      policy_version: null,
      process,
      reason_codes: ['SUBJECT_UNKNOWN'],
      record_version: null,
      request_id: `r${seq}`,
      seq,
      subject_ref: 'subj_a',
      venue_id: 'hall',
    };
    lines.push({ ...decision, hash: decisionHash(decision, lines.at(-1)?.hash ?? prevHash) });
  }
  return lines;
}

/** Heads that end at these numbers; the last one ends the process if `ended` is set. */
export function headsOf(lines: readonly Line[], ends: readonly number[], ended = true): DecisionHead[] {
  const hashAt = (seq: number) => (seq === 0 ? null : at(lines, seq - 1).hash);
  return ends.map((last, index) => {
    const before = index === 0 ? 0 : at(ends, index - 1);
    return {
      v: 1,
      process: at(lines, 0).process,
      number: index + 1,
      first_seq: before + 1,
      last_seq: last,
      prev_hash: hashAt(before),
      hash: hashAt(last),
      dropped: [],
      ended: ended && index === ends.length - 1,
      at: `2030-01-02T03:0${index}:00.000Z`,
    };
  });
}

/** The heads as records of a log, each with its proof. */
export async function saved(lines: readonly Line[], heads: readonly DecisionHead[], type = DECISION_HEAD_TYPE) {
  const key = generateNoteKey('log.example/ledger');
  const salt = Buffer.alloc(32, 7);
  const entries = heads.map((head, index) => {
    const data = { ...head, dropped: head.dropped.map((each) => ({ ...each })) };
    const receipt = {
      network: 'demo',
      channel: CHANNEL,
      id: `head-${index}`,
      type,
      owner: null,
      salt: salt.toString('hex'),
      dataHash: dataHashOf(salt, data, null),
      extra: null,
      transactionId: `tx-${index}`,
      index,
      at: '2030-01-02T03:04:05.678Z',
    };
    return { receipt, data };
  });
  const log = sampleLog(entries.length, { key, entries });
  const proofs = await Promise.all(entries.map((_, index) => log.proofOf(index)));
  const headLines = entries.map(({ data, receipt }, index) => ({
    record: { id: receipt.id, type, data },
    ...at(proofs, index),
  }));
  const bundle = bundleOf(entries.map(({ receipt }) => Buffer.from(receiptEntry(receipt))));
  const text = (all: readonly unknown[]) => all.map((each) => `${JSON.stringify(each)}\n`).join('');
  const directory = await directoryOf(
    new Map<string, string | Uint8Array>([
      ['decisions.ndjson', text(lines)],
      ['heads.ndjson', text(headLines)],
      ['log.vkey', key.verifierKey],
      ['copy/checkpoint', log.checkpoint()],
      [`copy/${bundlePath({ index: 0, width: Math.max(1, entries.length) })}`, bundle],
    ]),
  );
  const input = { decisions: `${directory}/decisions.ndjson`, heads: `${directory}/heads.ndjson` };
  return {
    headLines,
    directory,
    key,
    input: { ...input, verifier: log.verifier, channel: CHANNEL },
  };
}
