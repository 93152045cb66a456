import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { eachWithArchive, FILE, IN_ORDER, OURS, type TestArchive } from '../testing/open-test-archive.ts';
import type { TestLedger } from '../testing/open-test-ledger.ts';

let test: TestLedger;
let of: TestArchive;
eachWithArchive((parts) => ({ test, of } = parts));

describe('an audit detects tampering with an archive', () => {
  const path = (name: string) => join(of.folder, of.channel, name);
  const file = () => path(`records/${FILE}`);
  const editFile = (from: string, to: string) => {
    const text = readFileSync(file(), 'utf8');
    expect(text).toContain(from);
    writeFileSync(file(), text.replace(from, to));
  };
  const flip = (name: string) => {
    const bytes = readFileSync(path(name));
    bytes[40]! ^= 1;
    writeFileSync(path(name), bytes);
  };
  const row = (set: string) => () => of.edit(`UPDATE ledger.archived SET ${set} WHERE channel_id = ${OURS}`);
  const byte = (column: string) => row(`${column} = set_byte(${column}, 130, get_byte(${column}, 130) # 1)`);

  const edits: [what: string, spoil: () => unknown, firstBadRecordId: string | null][] = [
    ['content', () => editFile('"data":{"n":4}', '"data":{"n":5}'), 'r4'],
    ['a hash', () => editFile('"type":"asset"', '"type":"bsset"'), 'r1'],
    ['an owner', () => editFile('"owner":"me"', '"owner":"us"'), 'r0'],
    ['a removed line', () => writeFileSync(file(), of.text().split('\n').toSpliced(4, 1).join('\n')), 'r4'],
    ['an invalid line', () => editFile('"index":4,', '"index":4'), 'r4'],
    ['a truncated file', () => writeFileSync(file(), of.text().split('\n').slice(0, 500).join('\n') + '\n'), 'r500'],
    ['content taken out', () => editFile(of.text().split('\n')[4]!, ERASED_LINE(4)), 'r4'],
    ['the file', () => rmSync(file()), 'r0'],
    ['the tile', () => flip('tile/0/001'), null],
    ['the edge', () => flip('tile/1/000.p/2'), null],
    ['the checkpoint', () => rmSync(path('checkpoint')), null],
    [
      'the signature',
      () => writeFileSync(path('checkpoint'), readFileSync(path('checkpoint'), 'utf8').replace('\n512\n', '\n511\n')),
      null,
    ],
    ['archived.channel_id', row('channel_id = 999999'), 'r0'],
    ['archived.first_index', row('first_index = first_index + 256'), 'r0'],
    ['archived.until_index', row('until_index = until_index - 256'), 'r0'],
    ['archived.ids', row(`ids[5] = 'r4x'`), 'r4'],
    ['archived.types', row(`types[5] = 'x'`), 'r4'],
    ['archived.transactions', byte('transactions'), 'r4'],
    ['archived.salt', row('salt = set_byte(salt, 3, get_byte(salt, 3) # 1)'), 'r0'],
    ['archived.contents', byte('contents'), 'r4'],
    ['archived.last_at_ms', row('last_at_ms = last_at_ms + 1'), 'r511'],
    ['archives.upto', () => of.edit(`UPDATE ledger.archives SET upto = upto - 256 WHERE channel_id = ${OURS}`), null],
    [
      'archives.channel_id',
      () => of.edit(`UPDATE ledger.archives SET channel_id = 999999 WHERE channel_id = ${OURS}`),
      null,
    ],
    ['a removed erasure', () => of.edit(`DELETE FROM ledger.erasures WHERE channel_id = ${OURS} AND idx = 9`), 'r9'],
    [
      'an archived row in the table',
      () =>
        of.edit(`INSERT INTO ledger.records SELECT channel_id, 4, 'r4', type, owner, data, extra, salt, data_hash, leaf_hash,
                transaction_id, at_ms FROM ledger.records WHERE channel_id = ${OURS} AND idx = 600`),
      null,
    ],
  ];
  const ERASED_LINE = (n: number) =>
    of
      .text()
      .split('\n')
      [n]!.replace(/"data":\{[^}]*\}/, '"data":null')
      .replace(/"salt":"[0-9a-f]*"/, '"salt":null');

  afterEach(async () => {
    for (const table of ['archived', 'archives', 'erasures', 'records'])
      await test.sql.query({
        text: `DELETE FROM ledger.${table} WHERE channel_id NOT IN (SELECT channel_id FROM ledger.channels)`,
      });
  });

  it.each(edits)('%s', async (_, spoil, firstBadRecordId) => {
    await of.ledger.archiveRecords({ channel: of.channel, before: 512 });
    expect(await of.ledger.audit(of.channel)).toEqual(IN_ORDER);
    await spoil();
    const report = await of.ledger.audit(of.channel);
    expect(report).toMatchObject({ ok: false, firstBadRecordId, problem: expect.stringMatching(/\w/) });
  });
});
