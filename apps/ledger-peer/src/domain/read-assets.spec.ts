import { describe, expect, it } from '@jest/globals';
import { ServerSecrets } from '@sealgate/auth';
import { LedgerUnavailableError } from '@sealgate/ledger-port';
import { cursorCodec } from '@sealgate/paging';
import fc from 'fast-check';
import {
  ContractRefusal,
  UnreadableAnswerError,
  type AssetLedger,
  type PageQuery,
  type ProvedAsset,
} from './asset-ledger.ts';
import { Mappings, type Target } from './mapping.ts';
import type { PublicLog } from './public-log.ts';
import { byCodePoints, proveAsset, queryAssets, readAsset } from './read-assets.ts';

const target = (channel: string): Target => ({
  channel,
  network: 'acme',
  chaincode: 'records',
  contract: undefined,
  transactions: { write: 'w', read: 'r', query: 'q' },
  shape: { kind: 'records' },
  write: 'create',
});
const mappings = new Mappings([
  { type: 'first', target: target('acme.first') },
  { type: 'second', target: target('acme.second') },
]);

type Read = (channel: string, id: string) => string | undefined;

function portsWith(read: Read, log?: PublicLog) {
  const asked: string[] = [];
  const queries: PageQuery[] = [];
  const ledger: AssetLedger = {
    as: () => ledger,
    takesMany: () => true,
    write: () => Promise.reject(new Error('Nothing is written here.')),
    recall: () => Promise.reject(new Error('Nothing is recalled here.')),
    settle: () => Promise.reject(new Error('Nothing is settled here.')),
    async read({ channel }, id) {
      asked.push(channel);
      const text = read(channel, id);
      return text === undefined ? undefined : { text, type: channel === 'acme.first' ? 'first' : 'second' };
    },
    async query(_target, query) {
      queries.push(query);
      return { assets: [{ id: 'a' }], next: 'a' };
    },
  };
  const hasher = ServerSecrets.parse(`s1:${'s'.repeat(32)}`).derive('cursors');
  const cursors = cursorCodec({ hasher, now: () => 0, sentIn: 'body' });
  return { ports: { ledger, mappings, log, cursors }, asked, queries };
}

const away = (): never => {
  throw new LedgerUnavailableError('Away.');
};

describe('an id that one contract refuses', () => {
  const refused = (): never => {
    throw new ContractRefusal('not yours', {});
  };

  it('is looked for in the other mappings', async () => {
    const { ports, asked } = portsWith((channel) => (channel === 'acme.first' ? refused() : '{"id":"a"}'));
    expect(await readAsset(ports, 'a', undefined)).toBe('{"id":"a"}');
    expect(asked).toEqual(['acme.first', 'acme.second']);
  });

  it('is refused in its words if no other has it: it is not known to be absent', async () => {
    const { ports } = portsWith((channel) => (channel === 'acme.first' ? refused() : undefined));
    await expect(readAsset(ports, 'a', undefined)).rejects.toMatchObject({ code: 'CONTRACT_REFUSED' });
    await expect(readAsset(ports, 'a', 'first')).rejects.toMatchObject({ code: 'CONTRACT_REFUSED' });
  });
});

describe('an answer that cannot be read', () => {
  it('is 502, with what is wrong with it, and never "not found"', async () => {
    const { ports } = portsWith(() => {
      throw new UnreadableAnswerError('It lacks the member ID.');
    });
    const refusal = { code: 'UNREADABLE_ANSWER', message: 'It lacks the member ID.' };
    await expect(readAsset(ports, 'a', undefined)).rejects.toMatchObject(refusal);
    const query = () => Promise.reject(new UnreadableAnswerError('It lacks the member ID.'));
    const asked = queryAssets({ ...ports, ledger: { ...ports.ledger, query } }, { type: 'first', limit: 1 });
    await expect(asked).rejects.toMatchObject(refusal);
  });
});

describe('a contract that refuses to answer', () => {
  it('is 422 with its own words, never 503 or "not found"', async () => {
    const refusal = { code: 'CONTRACT_REFUSED', status: 422, members: { contractMessage: 'Not for you.' } };
    const { ports } = portsWith(() => {
      throw new ContractRefusal('Not for you.', {});
    });
    await expect(readAsset(ports, 'a', undefined)).rejects.toMatchObject(refusal);
    const query = () => Promise.reject(new ContractRefusal('Not for you.', {}));
    const asked = queryAssets({ ...ports, ledger: { ...ports.ledger, query } }, { type: 'first', limit: 1 });
    await expect(asked).rejects.toMatchObject(refusal);
  });
});

describe('reading an asset', () => {
  it('queries the mapped contracts in the order of the file, until one has it', async () => {
    const { ports, asked } = portsWith((channel) => (channel === 'acme.second' ? '{"is":2}' : undefined));
    expect(await readAsset(ports, 'a', undefined)).toBe('{"is":2}');
    expect(asked).toEqual(['acme.first', 'acme.second']);
  });

  it('queries only the contract of its type', async () => {
    const { ports, asked } = portsWith(() => undefined);
    await expect(readAsset(ports, 'a', 'second')).rejects.toMatchObject({ code: 'NOT_FOUND' });
    expect(asked).toEqual(['acme.second']);
    await expect(readAsset(ports, 'a', 'third')).rejects.toMatchObject({ code: 'UNKNOWN_CHAINCODE' });
  });

  it('never reports a missing asset while a ledger is unavailable, nor skips that ledger', async () => {
    const { ports } = portsWith((channel) => (channel === 'acme.first' ? away() : '{"is":2}'));
    await expect(readAsset(ports, 'a', undefined)).rejects.toMatchObject({ code: 'LEDGER_UNAVAILABLE' });
    const { ports: others } = portsWith((channel) => (channel === 'acme.second' ? away() : undefined));
    await expect(readAsset(others, 'a', undefined)).rejects.toMatchObject({ code: 'LEDGER_UNAVAILABLE' });
  });

  it('proves it in the channel where it was found, and reports ledgers without proofs', async () => {
    const proved: string[] = [];
    const log = {
      prove: async (channel: string) => {
        proved.push(channel);
        return { receipt: { of: channel }, proof: {} } as never;
      },
      checkpoint: async () => undefined,
      logKeys: async () => undefined,
      tile: async () => undefined,
      entries: async () => undefined,
      logs: async () => [],
      declaration: async () => undefined,
      find: async () => undefined,
      growth: async () => [],
    };
    const read: Read = (channel) => (channel === 'acme.second' ? '{"is":2}' : undefined);
    const { ports } = portsWith(read, log);
    expect(await proveAsset(ports, 'a', { proof: 'true' })).toBe(
      '{"asset":{"is":2},"receipt":{"of":"acme.second"},"proof":{}}',
    );
    expect(proved).toEqual(['acme.second']);
    const refused = { code: 'INVALID_REQUEST', faults: [{ in: 'query', pointer: '/proof' }] };
    await expect(proveAsset(portsWith(read).ports, 'a', { proof: 'true' })).rejects.toMatchObject(refused);
    await expect(proveAsset(ports, 'a', { proof: 'block' })).rejects.toMatchObject(refused);
  });

  it('passes on what peers signed, of types that are mapped, and tells an outage from a missing asset', async () => {
    const { ports } = portsWith(() => '{}');
    const found = {
      text: '{"id":"a"}',
      type: 'first',
      receipt: { version: 1 },
      proof: { v: 1 },
    } as never as ProvedAsset;
    const asked: boolean[] = [];
    const proving = (answer: () => ProvedAsset | undefined) => {
      const prove: AssetLedger['prove'] = async (_target, _id, { withBlock }) => {
        asked.push(withBlock);
        return answer();
      };
      return { ...ports, ledger: { ...ports.ledger, prove } };
    };
    const text = '{"asset":{"id":"a"},"receipt":{"version":1},"proof":{"v":1}}';
    expect(
      await proveAsset(
        proving(() => found),
        'a',
        { proof: 'true' },
      ),
    ).toBe(text);
    expect(
      await proveAsset(
        proving(() => found),
        'a',
        { type: 'first', proof: 'block' },
      ),
    ).toBe(text);
    expect(asked).toEqual([false, true]);
    const missing = { code: 'NOT_FOUND' };
    await expect(
      proveAsset(
        proving(() => undefined),
        'a',
        { proof: 'true' },
      ),
    ).rejects.toMatchObject(missing);
    const renamed = { ...found, type: 'second' };
    await expect(
      proveAsset(
        proving(() => renamed),
        'a',
        { proof: 'true' },
      ),
    ).rejects.toMatchObject(missing);
    await expect(proveAsset(proving(away), 'a', { proof: 'true' })).rejects.toMatchObject({
      code: 'LEDGER_UNAVAILABLE',
    });
  });
});

describe('querying assets', () => {
  it('continues after the previous page, for the same type only', async () => {
    const { ports, queries } = portsWith(() => undefined);
    const first = await queryAssets(ports, { type: 'first', limit: 1 });
    expect(first).toMatchObject({ assets: [{ id: 'a' }], count: 1 });
    const cursor = first.nextCursor ?? '';
    await queryAssets(ports, { type: 'first', limit: 1, cursor });
    expect(queries).toEqual([
      { type: 'first', limit: 1, after: undefined },
      { type: 'first', limit: 1, after: 'a' },
    ]);
    await expect(queryAssets(ports, { type: 'second', limit: 1, cursor })).rejects.toMatchObject({
      code: 'INVALID_CURSOR',
    });
    await expect(queryAssets(ports, { type: 'third', limit: 1 })).rejects.toMatchObject({
      code: 'UNKNOWN_CHAINCODE',
    });
  });
});

describe('a mapping with filters, or without a query', () => {
  const shape = {
    kind: 'positional',
    write: [],
    read: ['{id}'],
    query: ['{filter.owner}', '{filter.color|"any"}'],
    filters: ['owner', 'color'],
    actions: {},
    transient: [],
    collections: {},
    idMember: 'id',
    absentWords: [],
    existsWords: [],
  } as const;
  const mapped = { type: 'filtered', target: { ...target('acme.first'), shape } };
  const bare = { ...target('acme.first'), transactions: { write: 'w', read: 'r', query: undefined } };
  const withFilters = () => {
    const { ports, queries } = portsWith(() => undefined);
    return { ports: { ...ports, mappings: new Mappings([mapped, { type: 'bare', target: bare }]) }, queries };
  };

  it('passes filters on, and binds the cursor to them', async () => {
    const { ports, queries } = withFilters();
    const { nextCursor } = await queryAssets(ports, { type: 'filtered', limit: 1, filter: { owner: 'Tom' } });
    expect(queries).toEqual([{ type: 'filtered', limit: 1, after: undefined, filter: { owner: 'Tom' } }]);
    const next = { type: 'filtered', limit: 1, cursor: nextCursor! };
    await queryAssets(ports, { ...next, filter: { owner: 'Tom' } });
    const other = queryAssets(ports, { ...next, filter: { owner: 'Ann' } });
    await expect(other).rejects.toMatchObject({ code: 'INVALID_CURSOR' });
  });

  it.each<[string, Record<string, string>, string]>([
    ['a missing filter', {}, '/filter/owner'],
    ['an unknown filter', { owner: 'Tom', 'si/ze': '1' }, '/filter/si~1ze'],
    ['one that every object has', { owner: 'Tom', toString: '1' }, '/filter/toString'],
  ])('refuses %s', async (_, filter, pointer) => {
    const { ports, queries } = withFilters();
    await expect(queryAssets(ports, { type: 'filtered', filter })).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
      faults: [{ in: 'body', pointer }],
    });
    expect(queries).toEqual([]);
  });

  it('refuses filters of a mapping that has none, and a query that is not mapped', async () => {
    const { ports } = portsWith(() => undefined);
    const asked = queryAssets(ports, { type: 'first', filter: { owner: 'Tom' } });
    await expect(asked).rejects.toMatchObject({ code: 'INVALID_REQUEST' });
    await expect(queryAssets(withFilters().ports, { type: 'bare' })).rejects.toMatchObject({
      code: 'UNKNOWN_CHAINCODE',
      message: expect.stringContaining('no query is mapped'),
    });
  });
});

describe('code point order', () => {
  it('is by code point, unlike UTF-16', () => {
    expect(['😀', '～', 'a'].toSorted(byCodePoints)).toEqual(['a', '～', '😀']);
    const numbers = (text: string) => Array.from(text, (character) => character.codePointAt(0) ?? 0);
    const compare = (one: number[], other: number[]): number => {
      const at = one.findIndex((number, index) => number !== other[index]);
      if (at < 0) return one.length - other.length;
      return at >= other.length ? 1 : one[at]! - other[at]!;
    };
    const texts = fc.string({ unit: 'binary' });
    fc.assert(
      fc.property(texts, texts, (one, other) => {
        expect(Math.sign(byCodePoints(one, other))).toBe(Math.sign(compare(numbers(one), numbers(other))));
      }),
    );
  });
});
