import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { declarationText } from '@sealgate/envelope';
import { LedgerArchivedError, LedgerUnavailableError } from '@sealgate/ledger-port';
import { entriesOf, leafHash, parseCheckpoint, TileTree, type BundleId } from '@sealgate/merkle';
import type { EmbeddedLedger } from './embedded-ledger.ts';
import { eachWithArchive, SIZE, type TestArchive } from './testing/open-test-archive.ts';
import { E1, eachWithLostChannel, LOST, type LostChannel } from './testing/lost-channel.ts';
import { openTestLedger, type TestLedger } from './testing/open-test-ledger.ts';

const FULL = { index: 0, width: 256 };
const entriesIn = async (ledger: EmbeddedLedger, log: string, bundle: BundleId) =>
  entriesOf((await ledger.entries(log, bundle))!.bytes);

describe('entries of a log', () => {
  let test: TestLedger;
  const channel = 'acme.entries';
  const SIZE_HERE = 257;
  const id = (n: number) => (n === 3 ? 'a "\\ 😀' : `r${n}`);
  beforeAll(async () => {
    test = await openTestLedger();
    const records = Array.from({ length: SIZE_HERE }, (_, n) => ({
      id: id(n),
      type: n === 3 ? 't"\\é' : 'asset',
      owner: n === 4 ? 'me' : null,
      data: `{"n":${n}}`,
      extra: n === 5 ? '{"x":1}' : null,
    }));
    await test.ledger.append({ network: 'acme', channel, note: '{}', records });
    await test.integrator.catchUp(channel, SIZE_HERE);
  }, 120_000);
  afterAll(() => test.close());

  it("are the preimages of the signed tree's leaves, without record content", async () => {
    const rest = { index: 1, width: 1 };
    const entries = [
      ...(await entriesIn(test.ledger, channel, FULL)),
      ...(await entriesIn(test.ledger, channel, rest)),
    ];
    const tree = TileTree.empty();
    tree.append(Buffer.concat(entries.map((entry) => leafHash(entry))));
    const { size, root } = parseCheckpoint((await test.ledger.checkpoint(channel))!);
    expect([tree.size, tree.root()]).toEqual([size, root]);
    const { receipt } = (await test.ledger.prove(channel, id(3)))!;
    const { network, type, owner, dataHash, transactionId, at } = receipt;
    expect(entries[3]!.toString()).toBe(
      `{"at":"${at}","channel":"${channel}","dataHash":"${dataHash}","id":"a \\"\\\\ 😀","network":"${network}",` +
        `"owner":null,"transactionId":"${transactionId}","type":"t\\"\\\\é","v":1}`,
    );
    expect([type, owner]).toEqual(['t"\\é', null]);
  });

  it('are unchanged by an erasure', async () => {
    const before = await test.ledger.entries(channel, FULL);
    expect(await test.ledger.erase(channel, 'r7', 'asked for')).toBe(true);
    expect(await test.reopen().ledger.entries(channel, FULL)).toEqual(before);
  });

  it.each([
    ['a bundle that is not full yet, requested as a full one', { index: 1, width: 256 }],
    ['a bundle beyond the end', { index: 2, width: 1 }],
  ])('do not include %s', async (_, bundle) => {
    expect(await test.ledger.entries(channel, bundle)).toBeUndefined();
    expect(await test.ledger.entries('acme.nobody', FULL)).toBeUndefined();
  });

  it('include the narrower bundles of earlier checkpoints', async () => {
    const entries = await entriesIn(test.ledger, channel, FULL);
    expect(await entriesIn(test.ledger, channel, { index: 0, width: 9 })).toEqual(entries.slice(0, 9));
  });

  it.each([
    ['an edited row', `UPDATE ledger.records SET owner = 'x' WHERE idx = 8`],
    ['a removed row', `DELETE FROM ledger.records WHERE idx = 8`],
    ['an edited tile', `UPDATE ledger.tiles SET hashes = set_byte(hashes, 256, 7) WHERE level = 0 AND tile = 0`],
  ])(
    'are not served from %s, and the first bad one is named',
    async (_, edit) => {
      const other = await openTestLedger();
      try {
        const records = Array.from({ length: 20 }, (_, n) => ({
          id: `r${n}`,
          type: 'asset',
          owner: null,
          data: '{}',
          extra: null,
        }));
        await other.ledger.append({ network: 'acme', channel, note: '{}', records });
        await other.integrator.catchUp(channel, 20);
        await other.sql.query({ text: edit });
        const asked = other.ledger.entries(channel, { index: 0, width: 20 });
        await expect(asked).rejects.toThrow(LedgerUnavailableError);
        await expect(asked).rejects.toThrow('entry 8 is not what its leaf was made of');
      } finally {
        await other.close();
      }
    },
    120_000,
  );
});

describe('entries of archived records', () => {
  let test: TestLedger;
  let of: TestArchive;
  eachWithArchive((parts) => ({ test, of } = parts));

  it('are the same bytes from the files, and 503 in a process without the files', async () => {
    let nowMs = Date.now();
    const without = test.reopen({ now: () => nowMs }).ledger;
    const bundles = [0, 1, 2].map((index) => ({ index, width: index === 2 ? SIZE - 512 : 256 }));
    const before = await Promise.all(bundles.map((bundle) => without.entries(of.channel, bundle)));
    await of.ledger.archiveRecords({ channel: of.channel, before: 600 });
    expect(await Promise.all(bundles.map((bundle) => of.ledger.entries(of.channel, bundle)))).toEqual(before);
    nowMs += 1001; // What was read before is not served for longer than a second.
    await expect(without.entries(of.channel, bundles[0]!)).rejects.toThrow(LedgerArchivedError);
    expect(await without.entries(of.channel, bundles[2]!)).toEqual(before[2]);
  });
});

describe('entries after a declared loss', () => {
  let test: TestLedger;
  let at: LostChannel;
  eachWithLostChannel((parts) => void ({ test, at } = parts));

  it('begin with the declaration', async () => {
    await at.loseRecords();
    await at.recover();
    await at.write('x', 'y');
    await test.ledger.prove(LOST, 'y'); // Waits until it is signed.
    const entries = (await entriesIn(test.ledger, E1, { index: 0, width: 3 })).map(String);
    expect(entries[0]).toBe(declarationText((await test.ledger.declaration(LOST, 1))!.statement));
    expect(entries.slice(1).map((entry) => (JSON.parse(entry) as { id: string }).id)).toEqual(['x', 'y']);
    const ended = (await entriesIn(test.ledger, LOST, { index: 0, width: 2 })).map(String);
    expect(ended.map((entry) => (JSON.parse(entry) as { id: string }).id)).toEqual(['a', 'b']);
  });
});
