import { DECISION_HEAD_TYPE, type DecisionHead, type ProvedInLog } from '@sealgate/envelope';
import { AppError } from '@sealgate/errors';
import type { LedgerReader, StoredRecord } from '@sealgate/ledger-port';
import type { LoggedDecision } from './gate-decision.ts';

/** Decisions after the one to prove, up to the head: some megabytes. A head is written each minute. */
export const MOST_FOLLOWING = 5_000;

/** The embedded log. */
export interface HeadLog extends Pick<LedgerReader, 'query'> {
  prove(channel: string, id: string): Promise<ProvedInLog | undefined>;
}

interface ProofPorts {
  readonly decisions: {
    inOrder(page: {
      readonly process: string;
      readonly after: string;
      readonly limit: number;
    }): Promise<LoggedDecision[]>;
  };
  readonly embedded: HeadLog;
  readonly channel: string;
}

/** A decision, what links it to a head of its chain, and the head in the ledger with its proof. */
export interface ProvedDecision {
  readonly decision: LoggedDecision;
  readonly prevHash: string | null;
  readonly following: readonly LoggedDecision[];
  readonly head: StoredRecord;
  readonly proved: ProvedInLog;
}

/**
 * The hash of a decision covers the one before it, so all that follow up to the next head lead to the hash that the
 * ledger has.
 * @throws AppError NOT_FOUND if nothing in the ledger covers it, or not without decisions that were dropped.
 * @throws what the ledger throws.
 */
export async function proveDecision(ports: ProofPorts, decision: LoggedDecision): Promise<ProvedDecision> {
  const { process, seq } = decision;
  const found = await headOf(ports, decision);
  if (found === undefined)
    throw new AppError('NOT_FOUND', 'No head in the ledger covers this decision yet: one is written each minute.');
  const { first_seq: first, last_seq: last, prev_hash: before, dropped } = found.head;
  if (last - seq > MOST_FOLLOWING || dropped.some(({ last_seq }) => last_seq > seq))
    throw new AppError('NOT_FOUND', 'This decision is proved by sealgate-verify decisions only, with the whole log.');
  const page = { process, after: idOf(process, Math.max(0, seq - 2)), limit: last - seq + 2 };
  const rows = await ports.decisions.inOrder(page);
  const previous = rows.find((row) => row.seq === seq - 1) ?? dropped.find(({ last_seq }) => last_seq === seq - 1);
  const proved = await ports.embedded.prove(ports.channel, found.record.id);
  if (proved === undefined) throw new Error('The ledger has no proof of a record that it returned.');
  return {
    decision,
    prevHash: seq === first ? before : (previous?.hash ?? null),
    following: rows.filter((row) => row.seq > seq && row.seq <= last),
    head: found.record,
    proved,
  };
}

const idOf = (process: string, seq: number): string => `gd_${process}_${String(seq).padStart(10, '0')}`;

/** The first head that reaches a decision. Each covers one at least, so its number is not above that of the decision. */
async function headOf({ embedded, channel }: ProofPorts, { process, seq }: LoggedDecision) {
  const headFrom = async (number: number) => {
    const afterId = `decisions_${process}_${String(number).padStart(10, '0')}`;
    const [record] = await embedded.query({ channel, type: DECISION_HEAD_TYPE, afterId, limit: 1 });
    if (record?.id.startsWith(`decisions_${process}_`) !== true) return undefined;
    return { record, head: record.data as unknown as DecisionHead }; // We wrote it.
  };
  let [low, high] = [1, seq];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const found = await headFrom(middle);
    if (found === undefined || found.head.last_seq >= seq) high = middle;
    else low = middle + 1;
  }
  const found = await headFrom(low);
  return found !== undefined && found.head.first_seq <= seq && seq <= found.head.last_seq ? found : undefined;
}
