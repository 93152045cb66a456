import { describe, expect, it } from '@jest/globals';
import { LedgerUnavailableError } from '@sealgate/ledger-port';
import { asset, freshId } from '../testing/fabric-mapping.ts';
import { fabricSuite } from '../testing/fabric-suite.ts';

const suite = fabricSuite();

async function written(type: string, data = {}): Promise<string> {
  const id = freshId();
  expect(await suite.ledger.write(suite.target(type), [asset(id, type, data)])).toMatchObject({ outcome: 'committed' });
  return id;
}

const prove = (type: string, id: string, withBlock = false) =>
  suite.ledger.prove!(suite.target(type), id, { withBlock });

describe('the proof of an asset on our contract', () => {
  it('is signed by the endorsers of the mapping', async () => {
    const id = await written('both.x', { a: 1 });
    const { text, type, receipt, proof } = (await prove('both.x', id))!;
    expect(type).toBe('both.x');
    expect(JSON.parse(text)).toMatchObject({ id, type: 'both.x', data: { a: 1 } });
    expect(receipt).toMatchObject({
      network: 'acme',
      channel: 'acme.main',
      id,
      type: 'both.x',
      owner: null,
      version: 1,
    });
    expect(receipt.transactionId).toBe(proof.statement.transactionId);
    for (const { responses } of [proof.view, proof.statement])
      expect(responses.map(({ mspId }) => mspId)).toEqual(['Org2MSP', 'Org1MSP']);
    expect(proof.block).toBeUndefined();
  });

  it('is signed by whom discovery chooses where the mapping names none, and has the block on request', async () => {
    const { proof } = (await prove('ours.x', await written('ours.x'), true))!;
    expect(proof.view.responses.map(({ mspId }) => mspId)).toEqual(['Org1MSP']);
    expect(Buffer.from(proof.block ?? '', 'base64').length).toBeGreaterThan(1000);
  });

  it('is of the newest version, by its names without those of a shared channel', async () => {
    const id = await written('kept.x', { v: 1 });
    await suite.ledger.write(suite.target('kept.x'), [asset(id, 'kept.x', { v: 2 })]);
    const { text, receipt } = (await prove('kept.x', id))!;
    expect(receipt).toMatchObject({ channel: 'acme.kept', id, type: 'kept.x', version: 2 });
    expect(JSON.parse(text)).toMatchObject({ id, type: 'kept.x', data: { v: 2 } });
  });

  it('is missing for an asset that is not there', async () => {
    expect(await prove('both.x', 'nobody')).toBeUndefined();
  });

  it('cannot be had while one of the endorsers has no peer, or none answers', async () => {
    const id = await written('ours.x');
    await expect(prove('third.x', id)).rejects.toBeInstanceOf(LedgerUnavailableError);
    suite.peer.faults.inject('endorse', { status: { code: 14, message: 'down' } });
    await expect(prove('ours.x', id)).rejects.toBeInstanceOf(LedgerUnavailableError);
  }, 20_000);
});
