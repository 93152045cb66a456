import { afterEach, beforeEach, expect } from '@jest/globals';
import { declarationLeaf, type RecordProof } from '@sealgate/envelope';
import type { AppendUnit } from '@sealgate/ledger-port';
import { noteVerifier, parseCheckpoint, verifyInclusion } from '@sealgate/merkle';
import { copyDatabase, until } from '@sealgate/testing';
import type { EmbeddedLedger } from '../embedded-ledger.ts';
import { savedCheckpoints } from '../saved-checkpoints.ts';
import { openTestLedger, ORIGIN, type TestLedger } from './open-test-ledger.ts';

export const LOST = 'acme.lost';
export const E1 = `${LOST}/e1`;
export const BY = { reason: 'Restored the dump of Monday.', actor: 'admin:01234567', requestId: 'req_1' };

export type LostChannel = ReturnType<typeof lostChannel>;

/** A channel that loses records, and the steps of its recovery. */
export function lostChannel(test: TestLedger) {
  const unitOf = (...ids: string[]): AppendUnit => ({
    network: 'acme',
    channel: LOST,
    note: '{}',
    records: ids.map((id) => ({ id, type: 'asset', owner: null, data: `{"of":"${id}"}`, extra: null })),
  });
  const write = (...ids: string[]) => test.ledger.append(unitOf(...ids));
  const sign = (log = LOST) => test.integrator.catchUp(log, 1_000);
  const saved = () => savedCheckpoints(test.checkpointFolder, Date.now);
  const sizesKept = async (log: string) => {
    const sizes: number[] = [];
    for await (const note of saved().notes(log)) sizes.unshift(parseCheckpoint(note).size);
    return sizes;
  };

  /** Writes and signs records: the restored copy has a and b, but not c and d. */
  async function loseRecords(): Promise<{ putBack: () => Promise<void> }> {
    await write('a', 'b');
    await sign();
    const older = await copyDatabase(test.url);
    await write('c', 'd');
    await sign();
    const newer = await copyDatabase(test.url, 'newer');
    await older();
    return { putBack: newer };
  }

  async function declare(ledger: EmbeddedLedger = test.ledger, more: Partial<typeof BY> = {}): Promise<boolean> {
    const { lost } = await ledger.loss(LOST);
    return ledger.declareLoss(LOST, { ...BY, ...more, checkpoint: lost.at(-1)!.checkpoint });
  }

  /** Backdates the declaration, so that tests need not wait. */
  const letTimePass = () =>
    test.sql.query({ text: `UPDATE ledger.epochs SET declared_at = declared_at - interval '1 minute'` });

  /** Complete recovery: the loss is found, declared, signed, and the channel resumes. */
  async function recover(): Promise<void> {
    await test.integrator.compare(LOST);
    expect(await declare()).toBe(true);
    await letTimePass();
    await test.integrator.start();
    await until(async () => (await test.ledger.loss(LOST)).status === 'whole');
    await test.ledger.epochs.read();
  }

  function expectProved(proof: RecordProof, leafHash: Buffer): void {
    expect(noteVerifier(test.verifierKey).verify(proof.checkpoint)).toBeDefined();
    const { origin, size, root } = parseCheckpoint(proof.checkpoint);
    expect({ origin, size }).toEqual({ origin: proof.origin ?? `${ORIGIN}/${LOST}`, size: proof.treeSize });
    const hashes = (path: readonly string[]) => path.map((hash) => Buffer.from(hash, 'hex'));
    const { index, inclusionPath } = proof;
    expect(verifyInclusion({ leafHash, index, size, root, path: hashes(inclusionPath) })).toBe(true);
    const { declaration } = proof;
    if (declaration === undefined) return;
    const first = { leafHash: declarationLeaf(declaration.statement), index: 0, size, root };
    expect(verifyInclusion({ ...first, path: hashes(declaration.inclusionPath) })).toBe(true);
  }

  return { unitOf, write, sign, saved, sizesKept, loseRecords, declare, letTimePass, recover, expectProved };
}

/** Opens a ledger with a channel that can lose records for each test, and passes both to `made`. */
export function eachWithLostChannel(
  made: (parts: { test: TestLedger; at: LostChannel }) => void | Promise<void>,
): void {
  let test: TestLedger;
  beforeEach(async () => {
    test = await openTestLedger();
    await made({ test, at: lostChannel(test) });
  }, 120_000);
  afterEach(() => test.close());
}
