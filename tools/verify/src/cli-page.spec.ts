import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { Command } from 'commander';
import { addPageCommand } from './cli.ts';

const folder = mkdtempSync(join(tmpdir(), 'sealgate-page-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function run(file: string): Promise<{ said: string[]; code: number | undefined }> {
  const said: string[] = [];
  let code: number | undefined;
  const say = (text: string): void => void said.push(text);
  const program = new Command();
  addPageCommand(
    program,
    { out: say, err: say, directory: folder, now: Date.now, exit: (given) => (code = given) },
    file,
  );
  await program.parseAsync(['page'], { from: 'user' });
  return { said, code };
}

describe('sealgate-verify page', () => {
  it('prints the path of the page', async () => {
    const file = join(folder, 'verify.html');
    writeFileSync(file, '<!doctype html>');
    expect(await run(file)).toEqual({ said: [`${file}\n`], code: 0 });
  });

  it('says how to build the page if it is missing', async () => {
    const { said, code } = await run(join(folder, 'none.html'));
    expect({ said: said.join(''), code }).toEqual({ said: expect.stringContaining('npm run build'), code: 2 });
  });
});
