import { describe, expect, it } from '@jest/globals';
import { LedgerUnavailableError } from '@sealgate/ledger-port';
import { scriptedLedger } from '../testing/scripted-ledger.ts';
import { ContractRefusal, UnreadableAnswerError, type AssetLedger } from './asset-ledger.ts';
import { Mappings, type Target } from './mapping.ts';
import { readHistory } from './read-history.ts';

const target = (channel: string): Target => ({
  ...{ channel, network: 'acme', chaincode: 'records', contract: undefined },
  transactions: { write: 'w', read: 'r', query: 'q' },
  shape: { kind: 'records' },
  write: 'create',
});

describe('the history of an asset', () => {
  const shape = {
    kind: 'positional',
    ...{ write: [], read: ['{id}'], query: undefined, filters: [], actions: {}, transient: [], collections: {} },
    ...{ idMember: 'id', absentWords: [], existsWords: [] },
    history: { transaction: 'h', arguments: ['{id}'] },
  } as const;
  const [one, other] = ['acme.first', 'acme.second'].map((channel) => ({ ...target(channel), shape }));
  const plain = { type: 'plain', target: target('acme.first') };
  const withHistory = (history: AssetLedger['history'], ...types: { type: string; target: Target }[]) => {
    const ledger: AssetLedger = { ...scriptedLedger(), ...(history === undefined ? {} : { history }) };
    const cursors = { make: () => '', read: () => null };
    return { ledger, log: undefined, cursors, mappings: new Mappings([plain, ...types]) };
  };
  const car = { type: 'car', target: one! };

  it('is what the contract lists, of the type that is named, or of the only mapping that has one', async () => {
    const asked: string[] = [];
    const history: AssetLedger['history'] = async ({ channel }, id) => {
      asked.push(`${channel} ${id}`);
      return '[{"n":9007199254740993}]';
    };
    const text = '{"id":"a\\"b","history":[{"n":9007199254740993}]}';
    expect(await readHistory(withHistory(history, car), 'a"b', undefined)).toBe(text);
    const both = withHistory(history, car, { type: 'van', target: other! });
    expect(await readHistory(both, 'a"b', 'van')).toBe(text);
    expect(asked).toEqual(['acme.first a"b', 'acme.second a"b']);
    await expect(readHistory(both, 'a', undefined)).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
      faults: [{ in: 'query', pointer: '/type' }],
    });
  });

  it('is refused where none is mapped, and nothing is asked', async () => {
    const never = () => Promise.reject(new Error('Nothing is asked here.'));
    const refused = { code: 'UNKNOWN_CHAINCODE', message: 'For this type no history is mapped.' };
    await expect(readHistory(withHistory(never, car), 'a', 'plain')).rejects.toMatchObject(refused);
    await expect(readHistory(withHistory(undefined), 'a', 'plain')).rejects.toMatchObject(refused);
    const none = { code: 'UNKNOWN_CHAINCODE', message: 'No history is mapped.' };
    await expect(readHistory(withHistory(never), 'a', undefined)).rejects.toMatchObject(none);
    const unmapped = { code: 'UNKNOWN_CHAINCODE', message: 'No chaincode is mapped for this type.' };
    await expect(readHistory(withHistory(never, car), 'a', 'boat')).rejects.toMatchObject(unmapped);
  });

  it.each<[string, AssetLedger['history']]>([
    ['NOT_FOUND', async () => undefined],
    ['CONTRACT_REFUSED', () => Promise.reject(new ContractRefusal('not yours', {}))],
    ['UNREADABLE_ANSWER', () => Promise.reject(new UnreadableAnswerError('No list.'))],
    ['LEDGER_UNAVAILABLE', () => Promise.reject(new LedgerUnavailableError('Away.'))],
  ])('is %s as a read is', async (code, history) => {
    await expect(readHistory(withHistory(history, car), 'a', 'car')).rejects.toMatchObject({ code });
  });
});
