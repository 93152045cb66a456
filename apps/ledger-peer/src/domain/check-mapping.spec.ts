import { describe, expect, it } from '@jest/globals';
import { LedgerUnavailableError } from '@sealgate/ledger-port';
import { fabric, foreign, ours, textOf } from '../testing/mapping-files.ts';
import { ContractRefusal, UnreadableAnswerError, type PageQuery } from './asset-ledger.ts';
import { checkMapping, type CheckMappingPorts } from './check-mapping.ts';

const called = { types: ['vehicle'], channel: 'acme.main', chaincode: 'basic' };
const read = { ...called, call: 'read', transaction: 'ReadAsset' };
const query = { ...called, call: 'query', transaction: 'GetAllAssets' };

function portsWith(ledger: Partial<CheckMappingPorts['ledger']>, now = () => 0): CheckMappingPorts {
  const none = { read: async () => undefined, query: async () => ({ assets: [], next: undefined }) };
  return { ledger: { ...none, ...ledger }, rules: fabric, now };
}

describe('checking a mapping', () => {
  it('asks each read and query once, and says that all are well', async () => {
    const report = await checkMapping(portsWith({}), textOf(foreign, { ...foreign, type: 'car' }));
    const types = ['vehicle', 'car'];
    const calls = [
      { ...read, types, ok: true, answer: 'absent', detail: null },
      { ...query, types, ok: true, answer: 'answered', detail: null },
    ];
    expect(report).toEqual({ ok: true, faults: [], calls });
  });

  it('tells mappings of one chaincode apart by their types', async () => {
    const van = { ...foreign, type: 'van', transactions: { ...foreign.transactions, write: 'CreateVan' } };
    const { calls } = await checkMapping(portsWith({}), textOf(foreign, van));
    const told = calls.map(({ types, call }) => `${types.join()} ${call}`);
    expect(told).toEqual(['vehicle read', 'vehicle query', 'van read', 'van query']);
  });

  it('asks nothing if the file has faults, and names them', async () => {
    const asked: unknown[] = [];
    const ports = portsWith({ read: async (...call) => void asked.push(call) });
    const report = await checkMapping(ports, textOf({ ...ours, type: '' }));
    expect(report).toMatchObject({ ok: false, faults: [expect.stringContaining('mappings/0/type')], calls: [] });
    expect(asked).toEqual([]);
  });

  it.each<[string, Error, string]>([
    ['refused', new ContractRefusal('gibt es nicht', {}), 'gibt es nicht'],
    ['unreadable', new UnreadableAnswerError('It lacks the member ID.'), 'It lacks the member ID.'],
    [
      'unavailable',
      new LedgerUnavailableError('Away.', { cause: new Error('no peers available') }),
      'no peers available',
    ],
    [
      'unavailable',
      new LedgerUnavailableError('No Fabric channel holds acme.main.'),
      'No Fabric channel holds acme.main.',
    ],
  ])('says what is %s, in whose words', async (answer, error, detail) => {
    const { ok, calls } = await checkMapping(portsWith({ query: () => Promise.reject(error) }), textOf(foreign));
    expect(ok).toBe(false);
    expect(calls).toEqual([
      { ...read, ok: true, answer: 'absent', detail: null },
      { ...query, ok: false, answer, detail },
    ]);
  });

  it('leaves out the query of a mapping without one, and fills in every filter', async () => {
    const queries: PageQuery[] = [];
    const ports = portsWith({
      query: async (_target, asked) => {
        queries.push(asked);
        return { assets: [], next: undefined };
      },
    });
    const { query: _t, ...transactions } = foreign.transactions;
    const { query: _a, ...args } = foreign.arguments;
    const bare = { ...foreign, type: 'bare', transactions, arguments: args };
    const filtered = { ...foreign, filters: ['owner'], arguments: { ...foreign.arguments, query: ['{filter.owner}'] } };
    expect((await checkMapping(ports, textOf(bare, filtered))).calls).toHaveLength(3);
    expect(queries).toEqual([{ type: 'sealgate-check', limit: 1, after: undefined, filter: { owner: '' } }]);
  });

  it('asks for the history of a mapping with one', async () => {
    const asked: string[] = [];
    const ports = portsWith({ history: async (_target, id) => (asked.push(id), '[]') });
    const history = { transaction: 'GetAssetHistory', arguments: ['{id}'] };
    const { ok, calls } = await checkMapping(ports, textOf({ ...foreign, history }));
    const call = { ...called, call: 'history', transaction: 'GetAssetHistory' };
    expect({ ok, last: calls.at(-1) }).toEqual({
      ok: true,
      last: { ...call, ok: true, answer: 'answered', detail: null },
    });
    expect(asked).toEqual(['sealgate-check']);
  });

  it('says what it could not ask in time', async () => {
    let nowMs = 0;
    const ports = portsWith({}, () => (nowMs += 16_000));
    const { ok, calls } = await checkMapping(ports, textOf(foreign));
    expect(ok).toBe(false);
    expect(calls.map(({ answer }) => answer)).toEqual(['not_asked', 'not_asked']);
  });

  it('does not hide a fault of its own', async () => {
    const ports = portsWith({ read: () => Promise.reject(new TypeError('A bug.')) });
    await expect(checkMapping(ports, textOf(foreign))).rejects.toThrow('A bug.');
  });
});
