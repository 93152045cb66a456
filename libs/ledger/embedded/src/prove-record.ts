import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { receiptLeaf, type Receipt, type RecordProof } from '@sealgate/envelope';
import { LedgerUnavailableError } from '@sealgate/ledger-port';
import { inclusionPath, verifyInclusion, type Checkpoint } from '@sealgate/merkle';

import type { Sql } from '@sealgate/storage';
import type { CheckedCheckpoint } from './checked-checkpoint.ts';
import { readLedger } from './database-problem.ts';
import { LedgerCorruptError } from './ledger-corrupt-error.ts';
import { receiptOf, type RecordRow } from './stored-record.ts';
import { tileReader } from './tile-store.ts';

export interface ProveOptions {
  readonly sql: Sql;
  readonly deadlineMs: number;
  /** How long to wait for a checkpoint that covers the record, where another process integrates. */
  readonly coverWithinMs: number;
  /** Integrates now, where this process may; see `Integrator.catchUp`. */
  readonly catchUp?: (channel: string, size: number) => Promise<void>;
  readonly checked: CheckedCheckpoint;
  readonly now: () => number;
}

const POLL_MS = 20;

export async function findRecord(
  { sql, deadlineMs }: ProveOptions,
  channel: string,
  id: string,
): Promise<RecordRow | undefined> {
  const statement = { name: 'ledger record', text: 'SELECT * FROM ledger.record_v1($1, $2)', values: [channel, id] };
  return (await readLedger<RecordRow>(sql, statement, deadlineMs))[0];
}

/** The newest checkpoint, if it is this ledger's: one that is not is neither served nor used. */
export async function findCheckpoint(
  { sql, deadlineMs, checked }: Pick<ProveOptions, 'sql' | 'deadlineMs' | 'checked'>,
  channel: string,
): Promise<{ readonly note: string; readonly checkpoint: Checkpoint } | undefined> {
  const statement = { name: 'ledger checkpoint', text: 'SELECT ledger.checkpoint_v1($1) AS note', values: [channel] };
  const [row] = await readLedger<{ note: string | null }>(sql, statement, deadlineMs);
  if (row?.note == null) return undefined;
  return { note: row.note, checkpoint: notCorrupt(() => checked(channel, row.note!)) };
}

/** What cannot be shown now, because the channel is not as it was left, can once it is mended. */
function notCorrupt<Value>(read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    throw unavailableIfCorrupt(error);
  }
}

function unavailableIfCorrupt(error: unknown): unknown {
  return error instanceof LedgerCorruptError ? new LedgerUnavailableError(error.message, { cause: error }) : error;
}

/**
 * A receipt and the path from its leaf to a signed checkpoint; undefined when there is no such record.
 * The proof is checked before it is handed out.
 *
 * @throws LedgerCorruptError when the record or the tree is not what was signed.
 * @throws LedgerUnavailableError when no checkpoint covers the record in time.
 */
export async function proveRecord(
  options: ProveOptions,
  { channel, id, wants = () => true }: { channel: string; id: string; wants?: (type: string) => boolean },
): Promise<{ receipt: Receipt; proof: RecordProof } | undefined> {
  const row = await findRecord(options, channel, id);
  if (row === undefined || !wants(row.type)) return undefined;
  const receipt = receiptOf(row);
  const { note, checkpoint } = await coveringCheckpoint(options, channel, receipt.index);
  const { index } = receipt;
  const leafHash = receiptLeaf(receipt);
  const path = await inclusionPath(index, checkpoint.size, tileReader(options.sql, channel, options.deadlineMs));
  if (!verifyInclusion({ leafHash, index, size: checkpoint.size, path, root: checkpoint.root })) {
    throw new LedgerCorruptError(
      channel,
      `record ${index} is not what the checkpoint at ${checkpoint.size} was signed over`,
    );
  }
  assert.equal(
    row.leaf_hash.toString('hex'),
    leafHash.toString('hex'),
    'A leaf that is in the tree is the leaf that is stored.',
  );
  const inclusion = path.map((hash) => hash.toString('hex'));
  const proof = {
    channel,
    index,
    leafHash: leafHash.toString('hex'),
    treeSize: checkpoint.size,
    inclusionPath: inclusion,
    checkpoint: note,
  };
  return { receipt, proof };
}

async function coveringCheckpoint(options: ProveOptions, channel: string, index: number) {
  const giveUpAtMs = options.now() + options.coverWithinMs;
  for (;;) {
    const newest = await findCheckpoint(options, channel);
    if (newest !== undefined && newest.checkpoint.size > index) return newest;
    if (options.now() > giveUpAtMs) throw new LedgerUnavailableError('No checkpoint covers the record yet.');
    await options.catchUp?.(channel, index + 1).catch((error: unknown) => {
      throw unavailableIfCorrupt(error);
    });
    await delay(POLL_MS);
  }
}
