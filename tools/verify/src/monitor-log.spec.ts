import { describe, expect, it } from '@jest/globals';
import { bundleOf, bundlePath, parseBundlePath } from '@sealgate/merkle';
import { followLog, LogProblem, type SeenLog } from './monitor-log.ts';
import { CHANNEL, entryOf, flipped, sampleLog, servedLog, type SampleLog } from './testing/sample-log.ts';

const follow = (log: SampleLog, files: Map<string, Buffer>, seen?: SeenLog) => {
  const asked: string[] = [];
  const read = async (path: string) => {
    asked.push(path);
    return files.get(path);
  };
  return followLog({ read, verifier: log.verifier, log: CHANNEL, seen }).then((found) => ({ ...found, asked }));
};

async function problemOf(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof LogProblem)) throw new Error('There is no problem.', { cause: error });
  return `${error.kind}: ${error.message}`;
}

/** The previous log, and one with other entries from an index on, signed by the same key. */
const log = sampleLog(600);
const forked = sampleLog(600, { key: log.key, entries: log.entries.slice(0, 299) });

describe('a monitored log', () => {
  it.each([0, 1, 255, 256, 257, 512, 600])(
    'is checked entry by entry up to %d, and continues from there',
    async (size) => {
      const first = await follow(log, servedLog(log, size));
      expect(first).toMatchObject({ size, checked: size });
      const second = await follow(log, servedLog(log), first.seen);
      expect(second).toMatchObject({ size: 600, checked: 600 - size });
      // Only new entries are read.
      const read = second.asked.map(parseBundlePath).filter((bundle) => bundle !== undefined);
      expect(read.map(({ index }) => index)).toEqual(
        [0, 1, 2].filter((index) => size < 600 && index >= Math.floor(size / 256)),
      );
      expect((await follow(log, servedLog(log), second.seen)).checked).toBe(0);
    },
  );

  it('accepts a full bundle instead of a partial one', async () => {
    const files = servedLog(log, 300);
    files.delete(bundlePath({ index: 1, width: 44 }));
    files.set(bundlePath({ index: 1, width: 256 }), servedLog(log).get(bundlePath({ index: 1, width: 256 }))!);
    expect(await follow(log, files)).toMatchObject({ checked: 300 });
  });

  it('is a rollback if it has fewer entries than before', async () => {
    const { seen } = await follow(log, servedLog(log));
    expect(await problemOf(follow(log, servedLog(log, 599), seen))).toBe(
      'rollback: The log has 599 entries, and had 600.',
    );
  });

  it('is a fork if it has other entries than before, at the same size and at a larger one', async () => {
    const same = await follow(log, servedLog(log));
    expect(await problemOf(follow(log, servedLog(forked), same.seen))).toBe(
      'fork: Two trees of 600 entries are signed: a fork.',
    );
    const fewer = await follow(log, servedLog(log, 300));
    expect(await problemOf(follow(log, servedLog(forked), fewer.seen))).toMatch(/^fork: The 600 entries do not go on/);
    // The seen part is the same in both.
    const common = await follow(log, servedLog(log, 299));
    expect(await follow(log, servedLog(forked), common.seen)).toMatchObject({ checked: 301 });
  });

  it('names an entry that differs from the tree', async () => {
    const files = servedLog(log);
    const other = Array.from({ length: 256 }, (_, place) => entryOf(place === 44 ? forked : log, 256 + place));
    files.set(bundlePath({ index: 1, width: 256 }), bundleOf(other));
    expect(await problemOf(follow(log, files))).toBe('leaf: Entry 300 is not the one that the tree was made of.');
    const { seen } = await follow(log, servedLog(log, 290));
    expect(await problemOf(follow(log, files, seen))).toMatch(/^leaf: Entry 300 /);
  });

  it('rejects bundles of another channel, and short, long or truncated ones', async () => {
    const path = bundlePath({ index: 0, width: 256 });
    const changed = (bundle: Buffer) => new Map([...servedLog(log), [path, bundle]]);
    const bundle = servedLog(log).get(path)!;
    const strange = Buffer.from(bundle.toString('latin1').replaceAll('"demo.main"', '"demo.mine"'), 'latin1');
    expect(await problemOf(follow(log, changed(strange)))).toBe('channel: Entry 0 is of demo.mine, not of demo.main.');
    const none = bundleOf(Array.from({ length: 256 }, () => Buffer.from('[]')));
    expect(await problemOf(follow(log, changed(none)))).toMatch(/^channel: Entry 0 is no entry of a ledger/);
    expect(await problemOf(follow(log, changed(bundleOf([entryOf(log, 0)]))))).toMatch(/^leaf: .* holds 1 entries/);
    expect(await problemOf(follow(log, changed(bundle.subarray(0, -1))))).toMatch(/^leaf: .* ends within an entry/);
  });

  it('rejects a checkpoint of another key or log, and a changed one', async () => {
    const stranger = sampleLog(600);
    expect(await problemOf(follow(log, servedLog(stranger)))).toMatch(/^signature: /);
    const of = new Map([
      ...servedLog(log),
      ['checkpoint', Buffer.from(log.checkpoint(600, 'log.example/ledger/demo.other'))],
    ] as const);
    expect(await problemOf(follow(log, of))).toMatch(/^origin: The checkpoint is of log.example\/ledger\/demo.other/);
    const bent = new Map([...servedLog(log), ['checkpoint', flipped(log.checkpoint(), 30)]] as const);
    expect(await problemOf(follow(log, bent))).toMatch(/^signature: /);
  });

  it('is not continued from a changed state', async () => {
    const { seen } = await follow(log, servedLog(log, 300));
    const changed = {
      ...seen,
      edge: seen.edge.map((level) => ({
        ...level,
        hashes: flipped(Buffer.from(level.hashes, 'base64'), 3).toString('base64'),
      })),
    };
    await expect(follow(log, servedLog(log), changed)).rejects.toThrow('What was kept of the log is damaged');
    await expect(follow(log, servedLog(log), { ...seen, edge: [] })).rejects.toThrow(
      'What was kept of the log is damaged',
    );
  });
});
