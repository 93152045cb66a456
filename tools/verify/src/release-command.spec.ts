import { createHash } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { generateNoteKey, noteSigner } from '@sealgate/merkle';
import { runCli } from './cli.ts';
import { directoryOf } from './testing/sample-log.ts';

const key = generateNoteKey('sealgate.example/releases');
const sumOf = (text: string) => createHash('sha256').update(text).digest('hex');
const list = `${sumOf('one')}  a-1.0.0.tar.gz\n${sumOf('two')}  b-1.0.0.tgz\n`;
const sign = (text: string) => noteSigner(key.privateKey).sign(text);

const release = () =>
  directoryOf(
    new Map([
      ['a-1.0.0.tar.gz', 'one'],
      ['b-1.0.0.tgz', 'two'],
      ['SHA256SUMS', list],
      ['SHA256SUMS.note', sign(list)],
    ]),
  );

async function verify(directory: string, more = '', by = `--key ${key.verifierKey}`) {
  let said = '';
  const take = (text: string) => void (said += text);
  const line = `release . ${more} ${by}`.split(' ').filter(Boolean);
  return { code: await runCli(line, { out: take, err: take, directory }), said };
}

describe('sealgate-verify release', () => {
  it('verifies a whole release, and a single file of it', async () => {
    const directory = await release();
    const whole = await verify(directory);
    expect(whole).toMatchObject({ code: 0, said: expect.stringContaining('2 files are as sealgate.example/releases') });
    await rm(join(directory, 'a-1.0.0.tar.gz'));
    expect(await verify(directory)).toMatchObject({
      code: 1,
      said: expect.stringContaining('a-1.0.0.tar.gz is missing.'),
    });
    expect(await verify(directory, 'b-1.0.0.tgz')).toMatchObject({ code: 0 });
  });

  it.each([
    ['an edited file', 'b-1.0.0.tgz', 'tw0', 'b-1.0.0.tgz is not as it was released.'],
    ['an added file', 'c-1.0.0.tgz', 'three', 'c-1.0.0.tgz is no file of this release.'],
    ['another list beside the signed one', 'SHA256SUMS', list.replace('b-1', 'b-2'), 'SHA256SUMS is another list'],
    ['a list that was edited', 'SHA256SUMS.note', sign(list).replace('b-1', 'b-2'), 'No pinned key signed'],
    ['a list of a file elsewhere', 'SHA256SUMS.note', sign(`${sumOf('x')}  ../x\n`), 'A line is no digest and name'],
    ['a list that names a file twice', 'SHA256SUMS.note', sign(list + list), 'names a file twice'],
  ])('names %s', async (_what, file, text, said) => {
    const directory = await release();
    await writeFile(join(directory, file), text);
    expect(await verify(directory)).toMatchObject({ code: 1, said: expect.stringContaining(said) });
  });

  it('trusts only the given key', async () => {
    const directory = await release();
    const stranger = generateNoteKey('sealgate.example/releases').verifierKey;
    expect((await verify(directory, '', `--key ${stranger}`)).code).toBe(1);
    const none = await verify(directory, '', '');
    // Not even the key of a demo on this machine.
    expect(none).toMatchObject({ code: 2, said: expect.stringContaining("required option '--key <vkey>'") });
    expect((await verify(directory, 'd-1.0.0.tgz')).said).toContain('d-1.0.0.tgz is no file of this release.');
    await rm(join(directory, 'SHA256SUMS.note'));
    expect((await verify(directory)).code).toBe(2);
  });
});
