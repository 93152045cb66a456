import { describe, expect, it } from '@jest/globals';
import { LedgerUnavailableError } from '@sealgate/ledger-port';
import { parseMappings } from './parse-mappings.ts';
import { readTransaction, type FoundTransaction } from './read-transaction.ts';

const mappings = parseMappings(
  JSON.stringify({
    mappings: [
      { type: 'ours.*', channel: 'acme.main', chaincode: 'records' },
      { type: 'kept.*', channel: 'acme.kept', chaincode: 'records' },
      {
        type: 'car',
        channel: 'acme.main',
        chaincode: 'basic',
        transactions: { write: 'CreateAsset', read: 'ReadAsset' },
        arguments: { write: ['{id}'], read: ['{id}'] },
      },
    ],
  }),
  { driver: 'fabric', defaultChannel: undefined },
);

const ID = 'ab'.repeat(32);
const WANTED = { transactionId: ID, identity: 'app' };
const hex = (text: string) => Buffer.from(text).toString('hex');
const keysOf = (type: string, id: string) => [`i/${hex(id)}`, `r/${hex(type)}/${hex(id)}`];

function found(chaincode: string, keys: readonly string[], prefix = ''): FoundTransaction {
  return {
    ...{ transactionId: ID, blockNumber: 6, code: 'VALID', creator: { mspId: 'Org1MSP', subject: 'CN=app' } },
    ...{ endorsers: ['Org1MSP'], chaincode, function: 'createMany', prefix },
    at: '2030-01-02T03:04:05.678Z',
    writes: keys.map((key) => ({ chaincode, key, isDelete: false })),
  };
}

/** Reads it from a ledger that has it in one channel. */
const read = (channel: string, transaction: FoundTransaction) =>
  readTransaction({ mappings, findTransaction: async (one) => (one === channel ? transaction : undefined) }, WANTED);
const MISSING = { code: 'NOT_FOUND', message: 'There is no such transaction.' };

describe('a transaction', () => {
  it('is served with who wrote what, by the name of our channel', async () => {
    const keys = keysOf('ours.x', 'a');
    expect(await read('acme.main', found('records', keys))).toEqual({
      ...{ transactionId: ID, channel: 'acme.main', blockNumber: 6, code: 'VALID' },
      ...{ creator: { mspId: 'Org1MSP', subject: 'CN=app' }, endorsers: ['Org1MSP'] },
      ...{ chaincode: 'records', function: 'createMany', keysWritten: keys },
    });
  });

  it('shows the records that a mapping serves, and is missing if it writes only others', async () => {
    const [ours, others] = [keysOf('ours.x', 'a'), keysOf('secret', 'b')];
    const both = await read('acme.main', found('records', [...others, ...ours]));
    expect(both.keysWritten).toEqual(ours);
    await expect(read('acme.main', found('records', others))).rejects.toMatchObject(MISSING);
  });

  it('is of its own channel, where several share one of Fabric', async () => {
    const ours = keysOf('acme.kept/kept.x', 'acme.kept/a');
    const others = keysOf('other.main/kept.x', 'other.main/a');
    const shown = await read('acme.kept', found('records', [...ours, ...others], 'acme.kept/'));
    expect(shown).toMatchObject({ channel: 'acme.kept', keysWritten: ours });
    await expect(read('acme.kept', found('records', others, 'acme.kept/'))).rejects.toMatchObject(MISSING);
    await expect(read('acme.kept', found('records', [], 'acme.kept/'))).rejects.toMatchObject(MISSING);
  });

  it('may have written nothing', async () => {
    expect(await read('acme.main', found('records', []))).toMatchObject({ keysWritten: [] });
  });

  it('of a mapped third-party contract has its keys, without those of other chaincodes', async () => {
    const { writes, ...rest } = found('basic', ['car-1']);
    const shown = await read('acme.main', {
      ...rest,
      writes: [...writes, { chaincode: 'other', key: 'x', isDelete: false }],
    });
    expect(shown.keysWritten).toEqual(['car-1']);
  });

  it('is missing for chaincodes that are not mapped, ids that are none, and a ledger without blocks', async () => {
    await expect(read('acme.main', found('other', ['x']))).rejects.toMatchObject(MISSING);
    const never = () => Promise.reject(new Error('It is not asked.'));
    for (const id of ['', 'ab', 'AB'.repeat(32), `${ID}0`])
      await expect(
        readTransaction({ mappings, findTransaction: never }, { ...WANTED, transactionId: id }),
      ).rejects.toMatchObject(MISSING);
    await expect(readTransaction({ mappings, findTransaction: undefined }, WANTED)).rejects.toMatchObject(MISSING);
  });

  it('is not missing because the ledger cannot be asked', async () => {
    const away = () => Promise.reject(new LedgerUnavailableError('Away.'));
    const asked = readTransaction({ mappings, findTransaction: away }, WANTED);
    await expect(asked).rejects.toMatchObject({ code: 'LEDGER_UNAVAILABLE' });
  });
});
