import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  connectClient,
  startStandInPeer,
  type ConnectedClient,
  type Contract,
  type GatewayError,
  type StandInPeer,
} from '@sealgate/testing/fabric';

let peer: StandInPeer;
let client: ConnectedClient;
let contract: Contract;
beforeAll(async () => {
  peer = await startStandInPeer({
    chaincodes: [{ name: 'ledger', program: join(import.meta.dirname, 'main.ts') }],
    batchTimeoutMs: 5,
  });
}, 60_000);
afterAll(() => peer.close());
beforeEach(() => {
  client = connectClient(peer);
  contract = client.gateway.getNetwork('main').getContract('ledger', 'records');
});
afterEach(() => client.close());

const record = (id: string, changes: object = {}) => ({
  id,
  type: 'note',
  owner: null,
  data: '{"n":1}',
  extra: null,
  ...changes,
});
const submit = async (transaction: string, ...records: object[]) =>
  JSON.parse(Buffer.from(await contract.submitTransaction(transaction, JSON.stringify(records))).toString()) as unknown;
const evaluate = async (transaction: string, ...args: string[]) =>
  Buffer.from(await contract.evaluateTransaction(transaction, ...args)).toString();
const refusalOf = async (attempt: Promise<unknown>) => {
  const error = await attempt.then(
    () => undefined,
    (reason: unknown) => reason as GatewayError,
  );
  return { name: error?.name, code: error?.code, message: error?.details?.[0]?.message };
};

describe('the contract on the real shim', () => {
  it('writes once, and then returns the first receipt', async () => {
    const [written] = (await submit('createMany', record('once'))) as [{ transactionId: string }];
    expect(written).toMatchObject({ id: 'once', existing: false, version: 1 });
    expect(written.transactionId).toMatch(/^[0-9a-f]{64}$/);
    expect(await submit('createMany', record('once'))).toEqual([{ ...written, existing: true }]);
    expect(JSON.parse(await evaluate('read', 'once'))).toMatchObject({
      transactionId: written.transactionId,
      data: { n: 1 },
      at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    });
  });

  it('lets one of several concurrent writers of an id succeed', async () => {
    const attempts = Array.from({ length: 8 }, (_, n) => submit('createMany', record('raced', { data: `{"n":${n}}` })));
    const settled = await Promise.allSettled(attempts);
    const winners = settled.flatMap((outcome, n) => (outcome.status === 'fulfilled' ? [n] : []));
    expect(winners).toHaveLength(1);
    for (const outcome of settled) {
      // Endorsed before the winner's block, it is invalid in its own; endorsed after it, it is rejected.
      if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ code: expect.any(Number) });
    }
    expect(JSON.parse(await evaluate('read', 'raced'))).toMatchObject({ data: { n: winners[0] }, version: 1 });
  });

  it('reports a conflict in machine-readable form', async () => {
    await submit('createMany', record('taken'));
    expect(await refusalOf(submit('createMany', record('new'), record('taken', { data: '[]' })))).toEqual({
      name: 'EndorseError',
      code: 10,
      message: 'chaincode response 500, RECORD_CONFLICT:{"id":"taken"}',
    });
    expect(await evaluate('read', 'new')).toBe('');
  });

  it('accepts a thousand records, and returns them in a page', async () => {
    const type = 'many';
    const records = Array.from({ length: 1000 }, (_, n) => record(`m-${String(n).padStart(4, '0')}`, { type }));
    await submit('createMany', ...records);
    const page = JSON.parse(await evaluate('queryByType', type, '1000', '')) as { records: { id: string }[] };
    expect(page).toMatchObject({ bookmark: '' });
    expect(page.records.map(({ id }) => id)).toEqual(records.map(({ id }) => id));
    expect((await refusalOf(submit('createMany', ...records, record('one more')))).message).toBe(
      'chaincode response 500, INVALID_REQUEST:{"detail":"The argument holds 1001 records; 1 to 1000 are taken."}',
    );
  }, 30_000);

  it('pages in code point order over any characters', async () => {
    const ids = ['!', '/', 'a', 'a\u0080', 'aé', 'b', '\ufffd', '\u{10000}', '\u{10ffff}', '\u{10ffff}\u{10ffff}'];
    await submit('createMany', ...ids.toReversed().map((id) => record(id, { type: 'odd/\u{10ffff}' })));
    const seen: string[] = [];
    let bookmark = '';
    do {
      const page = JSON.parse(await evaluate('queryByType', 'odd/\u{10ffff}', '3', bookmark)) as {
        records: { id: string }[];
        bookmark: string;
      };
      seen.push(...page.records.map(({ id }) => id));
      bookmark = page.bookmark;
    } while (bookmark !== '');
    expect(seen).toEqual(ids);
  });

  it('keeps every version, also of a record whose type changed', async () => {
    await submit('upsertMany', record('grown'));
    await submit('upsertMany', record('grown', { type: 'letter', extra: '{}' }));
    expect(await submit('upsertMany', record('grown', { data: '[]' }))).toMatchObject([
      { version: 3, existing: false },
    ]);
    expect(JSON.parse(await evaluate('history', 'grown'))).toMatchObject({
      versions: [
        { version: 3, type: 'note', data: [] },
        { version: 2, type: 'letter', extra: {} },
        { version: 1, type: 'note', data: { n: 1 } },
      ],
      complete: true,
    });
  });

  it('is the default contract, and rejects unknown transactions', async () => {
    const unnamed = client.gateway.getNetwork('main').getContract('ledger');
    expect(Buffer.from(await unnamed.evaluateTransaction('read', 'nobody')).toString()).toBe('');
    expect((await refusalOf(contract.evaluateTransaction('transfer', 'x'))).code).toBe(2);
    expect((await refusalOf(contract.evaluateTransaction('read'))).message).toContain('Expected 1 parameters, but 0');
  });

  it('works again after a kill', async () => {
    await submit('createMany', record('before'));
    await peer.chaincode.kill('ledger');
    expect((await refusalOf(contract.evaluateTransaction('read', 'before'))).message).toContain('error in simulation');
    await peer.chaincode.start('ledger');
    expect(await evaluate('read', 'before')).toContain('before');
  });
});
