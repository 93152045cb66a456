import { createHmac } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { Known, Pushed } from '../history.ts';
import type { LedgerRecord } from './ledger-records.ts';
import { pushedWebhooks } from './pushed-webhooks.ts';
import { verdictOf } from './testing/lines.ts';

const secret = Buffer.alloc(24, 7);
const known: Known = {
  ...{ is: 'known', verifierKeys: [] },
  subscriptions: [{ subscription: 's', channel: 'acme.main', secret: `whsec_${secret.toString('base64')}`, from: 0 }],
};

const record = (index: number, transactionId: string): LedgerRecord => ({
  ...{
    channel: 'acme.main',
    network: 'acme',
    index,
    id: `${index}`,
    type: 'asset',
    owner: null,
    data: '{}',
    extra: null,
  },
  ...{ transactionId, leafHash: '', leafOfColumns: undefined },
});
/** Transactions at 0, 2 and 3. */
const rows = [record(0, 'a'), record(1, 'a'), record(2, 'b'), record(3, 'c')];

function push(blockNumber: number, transactionId: string, more: Partial<Pushed> = {}, key = secret): Pushed {
  const text = JSON.stringify({ type: 'commit', data: { channel: 'acme.main', blockNumber, transactionId } });
  const id = `cursor-${blockNumber}`;
  const mac = createHmac('sha256', key).update(`${id}.5.${text}`).digest('base64');
  const headers = { 'webhook-id': id, 'webhook-timestamp': '5', 'webhook-signature': `v1,${mac}` };
  return { is: 'pushed', subscription: 's', atMs: 0, headers, text, status: 204, ...more };
}

const broken = async (...lines: Pushed[]) => (await verdictOf(pushedWebhooks(), [known, ...lines], rows)).broken;

describe('pushed webhooks', () => {
  it('are complete where each transaction was acknowledged in order, repetitions and refusals aside', async () => {
    const lines = [push(0, 'a'), push(2, 'b', { status: 500 }), push(2, 'b'), push(2, 'b'), push(3, 'c'), push(0, 'a')];
    expect(await verdictOf(pushedWebhooks(), [known, ...lines], rows)).toMatchObject({ judged: 6, broken: [] });
  });

  it('are broken by one that is left out', async () => {
    expect(await broken(push(0, 'a'), push(3, 'c'))).toEqual(['s was not told of the transaction at acme.main/2']);
  });

  it('are broken by one that was never acknowledged', async () => {
    expect(await broken(push(0, 'a'), push(2, 'b', { status: 500 }), push(3, 'c'))).toHaveLength(1);
  });

  it('are broken by another order', async () => {
    expect(await broken(push(0, 'a'), push(3, 'c'), push(2, 'b'))).toEqual(['line 4: an event came after a later one']);
  });

  it('are broken by another key', async () => {
    expect(await broken(push(0, 'a'), push(2, 'b'), push(3, 'c'), push(3, 'c', {}, Buffer.alloc(24)))).toEqual([
      'line 5: a webhook without a valid signature',
    ]);
  });

  it('are broken by a transaction that is not in the rows', async () => {
    expect(await broken(push(0, 'a'), push(2, 'b'), push(3, 'c'), push(4, 'd'))).toEqual([
      'line 5: no transaction begins at acme.main/4',
    ]);
  });
});
