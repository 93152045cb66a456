import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { generateNoteKey, noteVerifier } from '@sealgate/merkle';
import { checkCheckpoint, checkConsistency, type Connection } from './check-consistency.ts';
import type { Report } from './report.ts';
import { directoryOf, filesOf, flipped, sampleLog } from './testing/sample-log.ts';
import { connectionByTiles } from './tile-directory.ts';
import { UnreadableError } from './shape.ts';

const log = sampleLog(600);
const fork = sampleLog(600, { key: log.key, entries: log.entries.slice(0, 100) });
const { verifier } = log;

/** `tiles`: a directory of tiles instead of the generated ones. */
async function check(older: string, newer: string, given?: Connection | { tiles: string }): Promise<Report> {
  const byTiles = given !== undefined && 'tiles' in given;
  const connection = byTiles ? await connectionByTiles(given.tiles, { older, newer }) : given;
  return checkConsistency({
    older: { note: older, where: 'old.txt' },
    newer: { note: newer, where: 'new.txt' },
    verifier,
    connection,
  });
}

async function proofBetween(oldSize: number, newSize: number, of = log): Promise<Connection> {
  return { name: 'proof.json', path: (await of.consistency(oldSize, newSize)).map((hash) => hash.toString('hex')) };
}

function failures(report: Report) {
  return report.steps.filter(({ status }) => status === 'failed');
}

describe('two checkpoints', () => {
  it('are consistent with a proof', async () => {
    for (const [oldSize, newSize] of [
      [1, 600],
      [255, 256],
      [256, 600],
      [300, 599],
    ] as const) {
      const proof = await proofBetween(oldSize, newSize);
      const report = await check(log.checkpoint(oldSize), log.checkpoint(newSize), proof);
      expect(failures(report)).toEqual([]);
      expect(report.conclusion).toContain(`The ${oldSize} entries`);
    }
  });

  it('are consistent with tiles, also if those have grown since', async () => {
    const tiles = await directoryOf(log.tiles(600));
    for (const size of [1, 200, 256, 300, 512, 599]) {
      expect(failures(await check(log.checkpoint(size), log.checkpoint(600), { tiles }))).toEqual([]);
    }
    // The tiles of 600 entries, used for a tree of 520: its partial tile exists only in a wider form.
    expect(failures(await check(log.checkpoint(300), log.checkpoint(520), { tiles }))).toEqual([]);
  });

  it('need no proof if they have the same size, or the old one is empty', async () => {
    expect((await check(log.checkpoint(5), log.checkpoint(5))).verified).toBe(true);
    expect((await check(log.checkpoint(0), log.checkpoint(5))).verified).toBe(true);
  });

  it('of different sizes are unreadable without a proof', async () => {
    await expect(check(log.checkpoint(5), log.checkpoint(6))).rejects.toThrow(UnreadableError);
    await expect(check(log.checkpoint(5), log.checkpoint(6))).rejects.toThrow('give --proof or --tiles');
  });

  it('fail if the log has shrunk', async () => {
    const report = await check(log.checkpoint(6), log.checkpoint(5));
    expect(failures(report)).toMatchObject([{ step: 'size', expected: 'at least 6 entries', found: '5 entries' }]);
    expect(failures(report)[0]?.detail).toContain('rollback');
  });

  it('fail as a fork if they have the same size and different roots', async () => {
    const report = await check(log.checkpoint(200), fork.checkpoint(200));
    expect(failures(report)).toMatchObject([{ step: 'consistency', where: 'new.txt' }]);
    expect(failures(report)[0]?.detail).toContain('A fork');
  });

  it('fail on a fork, with any proof or tiles', async () => {
    const tiles = await directoryOf(fork.tiles(600));
    const connections = [
      await proofBetween(200, 600),
      await proofBetween(200, 600, fork),
      { tiles },
      { tiles: await directoryOf(log.tiles(600)) },
    ];
    for (const connection of connections) {
      const report = await check(log.checkpoint(200), fork.checkpoint(600), connection);
      expect(failures(report)).toMatchObject([{ step: 'consistency' }]);
    }
    // Before the fork both logs are equal.
    expect((await check(log.checkpoint(100), fork.checkpoint(600), { tiles })).verified).toBe(true);
  });

  it('fail with a changed, malformed, missing or extra hash in the proof', async () => {
    const connection = await proofBetween(200, 600);
    const path = 'path' in connection ? [...connection.path] : [];
    const [first = ''] = path;
    const changed = '0'.repeat(64);
    for (const [spoiled, detail] of [
      [path.with(0, changed), 'does not lead to'],
      [path.with(0, first.toUpperCase()), 'lower hex'],
      [path.slice(1), 'too long or too short'],
      [[...path, first], 'too long or too short'],
    ] as const) {
      const report = await check(log.checkpoint(200), log.checkpoint(600), { name: 'proof.json', path: spoiled });
      expect(failures(report)).toMatchObject([{ step: 'consistency', where: 'proof.json' }]);
      expect(failures(report)[0]?.detail).toContain(detail);
    }
  });

  it('fail with a changed, truncated or missing tile, and name it', async () => {
    const checkWith = async (path: string, content: Uint8Array | undefined) => {
      const files = filesOf(log);
      if (content === undefined) files.delete(path);
      else files.set(path, content);
      const tiles = await directoryOf(files);
      return failures(await check(log.checkpoint(300), log.checkpoint(600), { tiles }));
    };
    const tile = log.tiles().get('tile/0/001');
    expect(await checkWith('tile/0/001', flipped(tile, 0))).toMatchObject([{ step: 'consistency' }]);
    expect((await checkWith('tile/0/001', tile?.subarray(1)))[0]?.detail).toContain('tile/0/001 has 8191 bytes');
    expect((await checkWith('tile/0/001', undefined))[0]?.detail).toContain('tile/0/001 is missing');
    expect((await checkWith('tile/0/002.p/88', undefined))[0]?.detail).toContain('tile/0/002.p/88 is missing');
  });

  it('fail if the tiles are missing', async () => {
    const report = await check(log.checkpoint(300), log.checkpoint(600), { tiles: join('/nowhere', 'at-all') });
    expect(failures(report)[0]?.detail).toContain('is missing');
  });

  it('fail if either is unsigned, edited, or of another log', async () => {
    const good = log.checkpoint(5);
    const edited = good.replace('\n5\n', '\n4\n');
    const stranger = sampleLog(5).checkpoint();
    const other = log.checkpoint(5, 'log.example/ledger/demo.other');
    expect(failures(await check(edited, good)).map(({ step }) => step)).toContain('old signature');
    expect(failures(await check(good, stranger)).map(({ step }) => step)).toContain('new signature');
    expect(failures(await check(good, other)).map(({ step }) => step)).toEqual(['log']);
    expect(failures(await check('', good)).map(({ step }) => step)).toEqual(['old signature', 'old checkpoint']);
    expect(failures(await check(good, 'x\n')).map(({ step }) => step)).toEqual(['new signature', 'new checkpoint']);
  });
});

describe('a checkpoint', () => {
  const check = (note: string, channel?: string, by = verifier) =>
    checkCheckpoint({ note, where: 'cp.txt', verifier: by, channel });

  it('verifies, and reports what it covers', () => {
    const report = check(log.checkpoint(5));
    expect(report.verified).toBe(true);
    expect(report.conclusion).toContain('signed log.example/ledger/demo.main at 5 entries, root ');
    expect(check(log.checkpoint(0), 'demo.main').verified).toBe(true);
  });

  it.each([
    ['another key', log.checkpoint(5), undefined, 'signature'],
    ['another channel than was asked for', log.checkpoint(5), 'demo.other', 'origin'],
    ['another log', log.checkpoint(5, 'elsewhere.example/demo.main'), undefined, 'origin'],
    ['no channel in its origin', log.checkpoint(5, 'log.example/ledger'), undefined, 'origin'],
    ['a longer log name', log.checkpoint(5, 'log.example/ledger2/demo.main'), undefined, 'origin'],
    ['a path for a channel', log.checkpoint(5, 'log.example/ledger/a/demo.main'), undefined, 'origin'],
    ['an edited size', log.checkpoint(5).replace('\n5\n', '\n6\n'), undefined, 'signature'],
    ['carriage returns', log.checkpoint(5).replaceAll('\n', '\r\n'), undefined, 'signature'],
    ['no newline at its end', log.checkpoint(5).trimEnd(), undefined, 'signature'],
  ])('fails with %s', (what, note, channel, step) => {
    const stranger = noteVerifier(generateNoteKey('log.example/ledger').verifierKey);
    const report = check(note, channel, what === 'another key' ? stranger : verifier);
    expect(report.verified).toBe(false);
    expect(failures(report)[0]).toMatchObject({ step, where: 'cp.txt' });
  });
});
