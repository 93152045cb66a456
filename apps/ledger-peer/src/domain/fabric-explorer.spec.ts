import { describe, expect, it } from '@jest/globals';
import { LedgerUnavailableError } from '@sealgate/ledger-port';
import { ours, textOf, fabric } from '../testing/mapping-files.ts';
import { listBlocks, listChannels, readBlock, type FabricBlocks, type FabricExplorerPorts } from './fabric-explorer.ts';
import { parseMappings } from './parse-mappings.ts';

const NEVER = new AbortController().signal;
const NEWEST = 40;
const mappings = parseMappings(
  textOf(ours, { ...ours, type: 'b', channel: 'acme.b', chaincode: 'zoo' }, { ...ours, type: 'c', channel: 'acme.b' }),
  fabric,
);

const entry = (place: number, code = 'VALID', kind: 'contract' | 'configuration' = 'contract') => ({
  ...{ place, kind, transactionId: `t${place}`, code, at: `2030-01-02T03:04:0${place}.000Z` },
  ...{ creator: { mspId: 'Org1MSP', subject: 'CN=app' }, endorsers: ['Org1MSP'], chaincode: 'records', function: 'f' },
  writes: [{ chaincode: 'records', key: 'k', isDelete: false }],
});

function portsWith({ first = 0, bytes = 100, isAway = false, now = (): number => 0 } = {}) {
  const reads: string[] = [];
  const blocks: FabricBlocks = {
    nameOf: () => 'main',
    ends: async (channel) => {
      if (isAway && channel === 'acme.b') throw new LedgerUnavailableError('Away.');
      return { first, newest: NEWEST };
    },
    async read(_channel, { from, upTo }) {
      reads.push(`${from}-${upTo}`);
      // No more than four at once, as where blocks are large.
      const last = Math.min(upTo, from + 3);
      return Array.from({ length: last - from + 1 }, (_, n) => ({
        ...{ number: from + n, bytes, hash: 'h', previousHash: 'p', dataHash: 'd' },
        entries: [entry(2), entry(1, 'MVCC_READ_CONFLICT'), entry(3, 'VALID', 'configuration')],
      }));
    },
  };
  const ports: FabricExplorerPorts = { blocks, mappings, now, findTransaction: async () => undefined };
  return { ports, reads };
}

const numbersOf = ({ items }: { readonly items: readonly { readonly number: number }[] }) =>
  items.map(({ number }) => number);
const range = (from: number, to: number) => Array.from({ length: from - to + 1 }, (_, n) => from - n);

describe('the blocks of a channel', () => {
  const list = ({ ports }: { ports: FabricExplorerPorts }, below: number | undefined, limit: number) =>
    listBlocks(ports, { channel: 'acme.main', below, limit }, NEVER);

  it('are listed newest first, each once, to the first one', async () => {
    const opened = portsWith();
    const seen: number[] = [];
    let below: number | undefined;
    do {
      const page = await list(opened, below, 12);
      seen.push(...numbersOf(page));
      below = page.next;
    } while (below !== undefined);
    expect(seen).toEqual(range(NEWEST, 0));
    expect(numbersOf(await list(opened, 3, 50))).toEqual([2, 1, 0]);
    expect(numbersOf(await list(opened, 1000, 2))).toEqual([40, 39]);
    expect(await list(opened, 0, 2)).toEqual({ items: [], next: undefined });
  });

  it('are summed up', async () => {
    const { items } = await list(portsWith(), 1, 1);
    expect(items).toEqual([
      {
        ...{ number: 0, at: '2030-01-02T03:04:03.000Z', transactions: 2, valid: 1, configurations: 1 },
        ...{ bytes: 100, hash: 'h', previousHash: 'p' },
      },
    ]);
  });

  it('end where the first block of peers is that began from a snapshot', async () => {
    const page = await list(portsWith({ first: 38 }), undefined, 50);
    expect([numbersOf(page), page.next]).toEqual([[40, 39, 38], undefined]);
  });

  it('are fewer on a page if they are large, or take long', async () => {
    const large = await list(portsWith({ bytes: 2 * 1024 * 1024 }), undefined, 50);
    expect([numbersOf(large), large.next]).toEqual([range(40, 31), 31]);
    let nowMs = 0;
    const slow = await list(portsWith({ now: () => (nowMs += 3000) }), undefined, 50);
    expect([numbersOf(slow), slow.next]).toEqual([range(40, 31), 31]);
  });

  it.each(['acme.other', 'main', ''])('are missing for %s, to which no mapping leads', async (channel) => {
    const { ports, reads } = portsWith();
    const missing = { code: 'NOT_FOUND' };
    await expect(listBlocks(ports, { channel, below: undefined, limit: 1 }, NEVER)).rejects.toMatchObject(missing);
    await expect(readBlock(ports, { channel, number: 1 }, NEVER)).rejects.toMatchObject(missing);
    expect(reads).toEqual([]);
  });

  it('are unavailable while no peer answers', async () => {
    const { ports } = portsWith({ isAway: true });
    const away = listBlocks(ports, { channel: 'acme.b', below: undefined, limit: 1 }, NEVER);
    await expect(away).rejects.toMatchObject({ code: 'LEDGER_UNAVAILABLE' });
  });
});

describe('one block', () => {
  it('has what it has of each transaction', async () => {
    const { block, entries, dataHash } = await readBlock(portsWith().ports, { channel: 'acme.main', number: 7 }, NEVER);
    expect([block.number, dataHash, entries.length]).toEqual([7, 'd', 3]);
    expect(entries[1]).toEqual({
      ...{ place: 1, kind: 'contract', transactionId: 't1', code: 'MVCC_READ_CONFLICT' },
      ...{ at: '2030-01-02T03:04:01.000Z', creator: { mspId: 'Org1MSP', subject: 'CN=app' } },
      ...{ endorsers: ['Org1MSP'], chaincode: 'records', function: 'f', keysWritten: 1 },
    });
  });

  it.each([
    [41, 0, 'The newest block of the channel is 40.'],
    [2, 3, 'The peers that answer began from a snapshot: their first block is 3.'],
  ])('is missing: %s', async (number, first, message) => {
    const asked = readBlock(portsWith({ first }).ports, { channel: 'acme.main', number }, NEVER);
    await expect(asked).rejects.toMatchObject({ code: 'NOT_FOUND', message });
  });
});

describe('the channels', () => {
  it('are those of mappings by name, also while a network is away', async () => {
    const { ports } = portsWith({ isAway: true, first: 2 });
    const main = {
      channel: 'acme.main',
      fabricChannel: 'main',
      chaincodes: ['records'],
      newestBlock: 40,
      firstBlock: 2,
    };
    const away = {
      ...{ channel: 'acme.b', fabricChannel: 'main', chaincodes: ['records', 'zoo'] },
      ...{ newestBlock: null, firstBlock: null },
    };
    expect(await listChannels(ports, { after: '', limit: 10 })).toEqual([away, main]);
    expect(await listChannels(ports, { after: 'acme.b', limit: 10 })).toEqual([main]);
    expect(await listChannels(ports, { after: '', limit: 1 })).toEqual([away]);
  });
});
