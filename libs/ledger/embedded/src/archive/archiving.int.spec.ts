import { cpSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import type { Tile } from '@sealgate/merkle';
import { ArchiveFiles } from './archive-files.ts';
import {
  eachWithArchive,
  IN_ORDER,
  openTestArchive,
  OURS,
  record,
  SIZE,
  type TestArchive,
} from '../testing/open-test-archive.ts';
import type { TestLedger } from '../testing/open-test-ledger.ts';
import type { ArchivedStretch } from './archived-record.ts';

let test: TestLedger;
let of: TestArchive;
eachWithArchive((parts) => ({ test, of } = parts));

describe('a crash while archiving', () => {
  /** Files that fail once at a chosen point. */
  class Breaking extends ArchiveFiles {
    at = '';

    #reach(point: string) {
      if (this.at !== point) return;
      this.at = '';
      throw new Error(`crash at ${point}`);
    }

    override async draft(of: string, from: number, lines: AsyncIterable<string>) {
      const draft = await super.draft(of, from, lines);
      this.#reach('the draft');
      const keep = async (stretch: ArchivedStretch) => {
        await draft.keep(stretch);
        this.#reach('the file');
      };
      return { ...draft, keep };
    }

    override async writeTiles(of: string, tiles: readonly Tile[]) {
      await super.writeTiles(of, tiles);
      this.#reach('the tiles');
    }

    override async writeCheckpoint(of: string, note: string) {
      await super.writeCheckpoint(of, note);
      this.#reach('the checkpoint');
    }
  }

  it.each(['the draft', 'the file', 'the tiles', 'the checkpoint'])(
    'after %s leaves every record readable, and repeating the order continues',
    async (point) => {
      const files = new Breaking(of.folder);
      const broken = of.open(files);
      await broken.ledger.archiveRecords({ channel: of.channel, before: 256 });
      files.at = point;
      await expect(broken.ledger.archiveRecords({ channel: of.channel, before: 512 })).rejects.toThrow(
        `crash at ${point}`,
      );
      expect(await of.count('records')).toBe(SIZE - 256);
      expect(await of.ledger.read(of.channel, 'r300')).toMatchObject({ data: { n: 300 } });
      expect(await of.ledger.read(of.channel, 'r3')).toMatchObject({ data: { n: 3 } });
      expect(await of.ledger.audit(of.channel)).toEqual(IN_ORDER);
      // Content erased meanwhile ends up in no file.
      await of.ledger.erase(of.channel, 'r300', 'asked for');
      expect(await of.ledger.archiveRecords({ channel: of.channel, before: 512 })).toMatchObject({ archived: 512 });
      expect(of.files()).toEqual(['000000000000-000000000256.ndjson', '000000000256-000000000512.ndjson']);
      expect(of.text('000000000256-000000000512.ndjson')).not.toContain('"data":{"n":300},');
      expect(await of.ledger.audit(of.channel)).toEqual(IN_ORDER);
    },
  );

  it.each([
    ['a draft', 'the draft'],
    ['a whole file', 'the checkpoint'],
  ])('leaves no content in %s if it is erased before the order is repeated', async (_, point) => {
    const files = new Breaking(of.folder);
    const broken = of.open(files);
    await broken.ledger.archiveRecords({ channel: of.channel, before: 256 });
    files.at = point;
    await expect(broken.ledger.archiveRecords({ channel: of.channel, before: 512 })).rejects.toThrow('crash');
    const copies = () => of.files().map((name) => of.text(name));
    expect(copies().join('')).toContain('"data":{"n":300},');
    const [whole] = copies();
    await of.without.erase(of.channel, 'r300', 'asked for');
    // Another process after the crash, on its own and for its own erasure.
    const later = of.open();
    await later.archiver.writeErasures();
    expect(copies().join('')).not.toContain('"data":{"n":300},');
    await later.ledger.erase(of.channel, 'r301', 'asked for');
    expect(copies().join('')).not.toContain('"data":{"n":301},');
    expect([copies()[0], of.problems, later.archiver.unwritten]).toEqual([whole, [], 0]);
    expect(await of.ledger.archiveRecords({ channel: of.channel, before: 512 })).toMatchObject({ archived: 512 });
    expect(await of.ledger.audit(of.channel)).toEqual(IN_ORDER);
  });

  it('whose attempt reached further leaves no overlapping file', async () => {
    const files = new Breaking(of.folder);
    files.at = 'the checkpoint';
    await expect(of.open(files).ledger.archiveRecords({ channel: of.channel, before: 512 })).rejects.toThrow('crash');
    expect(await of.ledger.archiveRecords({ channel: of.channel, before: 256 })).toMatchObject({ archived: 256 });
    expect(of.files()).toEqual(['000000000000-000000000256.ndjson']);
    expect(await of.ledger.audit(of.channel)).toEqual(IN_ORDER);
  });

  it('an erasure between reading and removing rewrites the file', async () => {
    class Erasing extends ArchiveFiles {
      override async writeTiles(channel: string, tiles: readonly Tile[]) {
        await super.writeTiles(channel, tiles);
        await of.without.erase(of.channel, 'r5', 'meanwhile');
      }
    }
    expect(
      await of.open(new Erasing(of.folder)).ledger.archiveRecords({ channel: of.channel, before: 512 }),
    ).toMatchObject({
      archived: 512,
    });
    expect(of.text()).not.toContain('"data":{"n":5},');
    expect(await of.ledger.audit(of.channel)).toEqual(IN_ORDER);
  });
});

describe('archiving is refused', () => {
  const archive = (before = 512) => of.ledger.archiveRecords({ channel: of.channel, before });

  it('beyond the signed records', async () => {
    await of.without.append(of.unit(Array.from({ length: 600 }, (_, n) => record(SIZE + n))));
    expect(await archive(1_000_000)).toEqual({ channel: of.channel, size: SIZE + 600, archived: 512, until: 512 });
  });

  it('if the records are not the signed ones: nothing is removed', async () => {
    await of.edit(`UPDATE ledger.records SET owner = 'x' WHERE channel_id = ${OURS} AND idx = 4`);
    await expect(archive()).rejects.toMatchObject({
      name: 'ArchiveRefusedError',
      message: expect.stringContaining('audit the channel'),
    });
    expect(await of.count('records')).toBe(SIZE);
    expect(await of.count('archived')).toBe(0);
  });

  it('if content does not match its hash', async () => {
    await of.edit(`UPDATE ledger.records SET data = '{"n":99}' WHERE channel_id = ${OURS} AND idx = 4`);
    await expect(archive()).rejects.toThrow(/records below 512 are not those that were signed for/);
  });

  it('if a record is missing', async () => {
    await of.edit(`DELETE FROM ledger.records WHERE channel_id = ${OURS} AND idx = 4`);
    await expect(archive()).rejects.toThrow(/record 4 is missing/);
  });

  it('if another surface owns the channel', async () => {
    const text = `INSERT INTO ledger.grants (role, surface, channel, rights, owns) VALUES ('gate', 'gate', $1, '{}', true)`;
    await test.sql.query({ text, values: [of.channel] });
    await expect(archive()).rejects.toThrow(`The channel ${of.channel} is owned by gate`);
  });

  it('if the channel is halted', async () => {
    const text = `INSERT INTO ledger.halts (channel_id, problem, at_ms) VALUES (${OURS}, 'it is not as it was left', 1)`;
    await of.edit(text);
    await expect(of.archiver.archive({ channel: of.channel, before: 512 }, 1000)).rejects.toThrow(
      /is halted: it is not as it was left/,
    );
  });

  it('if the channel continued in an epoch after a loss', async () => {
    await of.edit('UPDATE ledger.channels SET epoch = 1 WHERE channel = $1');
    const refused = `channel ${of.channel} went on in epoch 1 after a loss, and an archive is of one log`;
    expect(await of.edit('SELECT refused FROM ledger.archive_state($1, 0)')).toEqual([{ refused }]);
  });

  it('if the folder is not writable', async () => {
    writeFileSync(join(of.folder, of.channel), 'a file where a folder should be');
    await expect(archive()).rejects.toThrow(/Nothing was removed from record 0 on/);
    expect(await of.count('records')).toBe(SIZE);
  });

  it('if the folder holds records that the database never had', async () => {
    await archive(256);
    writeFileSync(join(of.folder, of.channel, 'records', '000000000256-000000001024.ndjson'), '');
    await expect(archive()).rejects.toThrow(/holds records beyond the 700 that the database has/);
  });

  it.each([512, 0])('if the files of archived records are missing (before %s)', async (before) => {
    await archive(256);
    const away = `${of.folder}-away`;
    renameSync(of.folder, away);
    await expect(archive(before)).rejects.toThrow(
      /Nothing was removed from record 256 on\. .* does not hold the 256 records that are archived: files are missing from record 0 on\./,
    );
    expect(existsSync(of.folder)).toBe(false);
    expect(await of.count('records')).toBe(SIZE - 256);
    renameSync(away, of.folder);
    expect(await archive()).toMatchObject({ archived: 512 });
    rmSync(join(of.folder, of.channel, 'records', of.files()[0]!));
    await expect(archive(0)).rejects.toThrow(/does not hold the 512 records .* from record 0 on/);
  });

  it.each([512, 0])('if the folder belongs to another log (before %s)', async (before) => {
    const other = await openTestArchive(test);
    for (const { ledger, channel } of [of, other]) await ledger.archiveRecords({ channel, before: 256 });
    const theirs = join(other.folder, other.channel);
    cpSync(theirs, join(of.folder, of.channel), { recursive: true });
    await expect(archive(before)).rejects.toThrow(/is of another log: its tile\/1\/000\.p\/1 is not ours/);
    expect(readFileSync(join(of.folder, of.channel, 'checkpoint'))).toEqual(readFileSync(join(theirs, 'checkpoint')));
    expect(await of.count('records')).toBe(SIZE - 256);
    other.close();
  });

  it('by a process that does not write the archive', async () => {
    await expect(of.without.archiveRecords({ channel: of.channel, before: 512 })).rejects.toThrow(/LEDGER_ARCHIVE_DIR/);
  });

  it('of an unknown channel', async () => {
    expect(await of.ledger.archiveRecords({ channel: 'acme.never', before: 512 })).toBeUndefined();
  });
});
