import { describe, expect, it } from '@jest/globals';
import { at, flipped, sampleLog } from './testing/sample-log.ts';
import { check, failures, isTile, log, type Files } from './testing/tampered-log.ts';
import { UnreadableError } from './shape.ts';

function editedLines(edit: (lines: string[]) => void): string {
  const lines = log.lines();
  edit(lines);
  return `${lines.join('\n')}\n`;
}

/** Line `index` as an object with some members replaced. */
function lineWith(index: number, change: object): string {
  return JSON.stringify({ ...(JSON.parse(at(log.lines(), index)) as object), ...change });
}

describe('a whole log', () => {
  it('verifies with tiles and entries, with either, and when it is empty', async () => {
    expect(await failures(() => undefined)).toEqual([]);
    expect(await failures((files) => files.delete('leaves.ndjson'))).toEqual([]);
    expect(await failures((files) => void [...files.keys()].filter(isTile).map((path) => files.delete(path)))).toEqual(
      [],
    );
    const empty = sampleLog(0, { key: log.key, entries: [] });
    expect(await failures((files) => files.delete('leaves.ndjson'), { of: empty })).toEqual([]);
  });

  it('verifies an archive with several files of entries, and names an edit in one', async () => {
    const archive = (lines: readonly string[]) => (files: Files) => {
      files.delete('leaves.ndjson');
      files.set('records/000000000512-000000000600.ndjson', `${lines.slice(512).join('\n')}\n`);
      files.set('records/000000000000-000000000512.ndjson', `${lines.slice(0, 512).join('\n')}\n`);
    };
    expect(await failures(archive(log.lines()))).toEqual([]);
    const edited = log.lines().with(520, lineWith(520, { data: { other: 'content' } }));
    const { steps } = await check(archive(edited));
    expect(steps.find(({ status }) => status === 'failed')).toMatchObject({
      step: 'leaves',
      where: expect.stringContaining('000000000512-000000000600.ndjson:9'),
      detail: expect.stringContaining('Entry 520'),
    });
    const [gap] = await failures((files) => {
      archive(log.lines())(files);
      files.delete('records/000000000000-000000000512.ndjson');
    });
    expect(gap).toEqual({ step: 'leaves', detail: 'Entries are missing: there is a gap in the indexes.' });
  });

  it('reports what was recomputed', async () => {
    const report = await check(() => undefined);
    expect(report.conclusion).toContain('All 600 entries of log.example/ledger/demo.main are those that');
    expect(report.steps.map(({ detail }) => detail)).toContain('All 4 tiles are there and agree with each other.');
    expect(report.steps.map(({ detail }) => detail)).toContain(
      '600 entries, indexes 0 to 599 without a gap, no id twice.',
    );
  });

  it('reports entries that are not covered yet', async () => {
    const report = await check((files) => files.set('checkpoint', log.checkpoint(590)));
    expect(report.verified).toBe(true);
    expect(report.notes.join()).toContain('10 entries that the checkpoint does not cover yet');
  });

  it('is unreadable without tiles and entries, or without a checkpoint', async () => {
    const only = check((files) => [...files.keys()].slice(1).map((path) => files.delete(path)));
    await expect(only).rejects.toThrow('nothing to recompute');
    await expect(check((files) => files.delete('checkpoint'))).rejects.toThrow(UnreadableError);
  });

  it('fails without a signature by the pinned key, or with another channel', async () => {
    const stranger = sampleLog(600, { key: sampleLog(1).key, entries: log.entries });
    expect((await failures((files) => files.set('checkpoint', stranger.checkpoint())))[0]?.step).toBe('signature');
    expect((await failures(() => undefined, { channel: 'demo.other' }))[0]?.step).toBe('origin');
    expect((await failures((files) => files.set('checkpoint', 'x\n'))).map(({ step }) => step)).toEqual([
      'signature',
      'checkpoint',
    ]);
  });

  describe('whose tiles were tampered with', () => {
    it('names the entry in which a leaf tile differs, and which side is right', async () => {
      const found = await failures((files) => files.set('tile/0/001', flipped(files.get('tile/0/001'), 32 * 44)));
      expect(found).toMatchObject([{ step: 'root' }, { step: 'leaves' }, { step: 'tiles' }]);
      expect(found[1]?.detail).toBe(
        'Entry 300 is the first that disagrees with tile/0/001; the entries hash to the signed root.',
      );
      expect(found[2]?.detail).toContain('hash 1, over entries 256 to 511');
    });

    it('names the range if there are no entries to compare with', async () => {
      const found = await failures((files) => {
        files.delete('leaves.ndjson');
        files.set('tile/0/000', flipped(files.get('tile/0/000'), 0));
      });
      expect(found).toMatchObject([{ step: 'root' }, { step: 'tiles' }]);
      expect(found[1]?.detail).toContain('over entries 0 to 255');
    });

    it.each([
      [
        'changed above level 0',
        'tile/1/000.p/2',
        (bytes: Buffer) => flipped(bytes, 0),
        'disagrees with the tiles below',
      ],
      ['cut short', 'tile/0/000', (bytes: Buffer) => bytes.subarray(32), 'has 8160 bytes instead of 8192'],
      ['missing', 'tile/0/002.p/88', () => undefined, 'entries 512 to 599 are not shown'],
      ['missing above level 0', 'tile/1/000.p/2', () => undefined, 'A tile is missing.'],
    ])('names a tile that is %s', async (_, path, spoil, detail) => {
      const found = await failures((files) => {
        const bytes = spoil(Buffer.from(files.get(path) ?? ''));
        if (bytes === undefined) files.delete(path);
        else files.set(path, bytes);
      });
      expect(found).toHaveLength(1);
      expect(found[0]).toMatchObject({ step: 'tiles', detail: expect.stringContaining(detail) });
    });
  });

  describe('whose entries were tampered with', () => {
    it('names the first entry that differs', async () => {
      const other = lineWith(123, { owner: 'Eve' });
      const found = await failures((files) =>
        files.set(
          'leaves.ndjson',
          editedLines((lines) => lines.splice(123, 1, other)),
        ),
      );
      expect(found).toMatchObject([{ step: 'root' }, { step: 'leaves' }]);
      expect(found[1]?.detail).toBe(
        'Entry 123 is the first that disagrees with tile/0/000; the tiles hash to the signed root.',
      );
    });

    it.each<[string, (lines: string[]) => unknown, string]>([
      [
        'an edited content',
        (lines) => lines.splice(9, 1, lineWith(9, { data: { order: 10 } })),
        'Entry 9 (order-9): The content',
      ],
      [
        'an edited salt',
        (lines) => lines.splice(9, 1, lineWith(9, { salt: '0'.repeat(64) })),
        'Entry 9 (order-9): The content',
      ],
      ['a malformed salt', (lines) => lines.splice(9, 1, lineWith(9, { salt: 'x' })), 'The salt is malformed'],
      [
        'content where the salt is erased',
        (lines) => lines.splice(9, 1, lineWith(9, { salt: null })),
        'nothing can prove',
      ],
      [
        'a leaf hash it does not have',
        (lines) => lines.splice(9, 1, lineWith(9, { leafHash: 'x' })),
        'does not hash to the leafHash',
      ],
      ['a dropped row', (lines) => lines.splice(9, 1), 'there is a gap in the indexes'],
      ['two rows exchanged', (lines) => lines.splice(9, 2, at(lines, 10), at(lines, 9)), 'there is a gap'],
      ['a row twice', (lines) => lines.splice(9, 0, at(lines, 9)), 'An index is there twice, or out of order'],
      ['a dropped last row', (lines) => lines.pop(), 'the first entry that is not there is 599'],
      [
        'one id twice',
        (lines) => lines.splice(9, 1, lineWith(9, { id: 'order-8' })),
        'The id order-8 is in the log twice',
      ],
      [
        'a row of another channel',
        (lines) => lines.splice(9, 1, lineWith(9, { channel: 'demo.x' })),
        'of another channel',
      ],
    ])('names %s', async (_, edit, detail) => {
      const found = await failures((files) => files.set('leaves.ndjson', editedLines(edit)));
      expect(found.map((failure) => failure.detail).join('\n')).toContain(detail);
      expect(found.find((failure) => failure.detail.includes(detail))?.step).toBe('leaves');
    });

    it('accepts bare leaves, and names a malformed one', async () => {
      const bare = log.leafHashes.map((leafHash, index) => ({
        index,
        leafHash: leafHash.toString('hex'),
        id: `order-${index}`,
      }));
      const lines = (leaves: readonly unknown[]) => leaves.map((leaf) => JSON.stringify(leaf)).join('\n');
      expect(await failures((files) => files.set('leaves.ndjson', lines(bare)))).toEqual([]);
      const spoiled = lines(bare.with(3, { index: 3, leafHash: 'x', id: 'order-3' }));
      const found = await failures((files) => files.set('leaves.ndjson', spoiled));
      expect(found[0]?.detail).toBe('Entry 3 (order-3): The leafHash is not 64 lower hex digits.');
    });

    it('accepts records with their receipts, erased ones too', async () => {
      const lines = log.entries.map(({ receipt, data }, index) =>
        index === 3
          ? { receipt: { ...receipt, salt: null, extra: null }, record: { data: null, erased: true } }
          : { receipt, record: { data } },
      );
      const text = lines.map((line) => JSON.stringify(line)).join('\n');
      expect(await failures((files) => files.set('leaves.ndjson', text))).toEqual([]);
    });

    it('is unreadable with a truncated or foreign line, and names it', async () => {
      const torn = check((files) => files.set('leaves.ndjson', `${at(log.lines(), 0)}\n{"net`));
      await expect(torn).rejects.toThrow(/leaves\.ndjson:2 is not JSON/);
      const foreign = check((files) => files.set('leaves.ndjson', '{"hello":1}\n'));
      await expect(foreign).rejects.toThrow(/leaves\.ndjson:1 is neither a receipt/);
      await expect(foreign).rejects.toThrow(UnreadableError);
    });
  });

  it('that was rewritten as a whole is consistent, and only the signature or a saved checkpoint reveals it', async () => {
    const rewritten = sampleLog(600, { key: sampleLog(1).key, entries: log.entries.slice(0, 10) });
    expect((await failures(() => undefined, { of: rewritten })).map(({ step }) => step)).toEqual(['signature']);
    // With a stolen key the log is consistent in itself.
    const stolen = sampleLog(600, { key: log.key, entries: log.entries.slice(0, 10) });
    expect(await failures(() => undefined, { of: stolen })).toEqual([]);
    const found = await failures((files) => files.set('saved.txt', log.checkpoint(300)), {
      of: stolen,
      saved: ['saved.txt'],
    });
    expect(found).toMatchObject([{ step: 'saved', detail: expect.stringContaining('the past was changed') }]);
  });
});
