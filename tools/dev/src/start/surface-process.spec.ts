import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { cleanEnv, lastWords } from './surface-process.ts';

describe('the last words of a surface', () => {
  let folder = '';
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'sealgate-log-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it.each([
    ['', 'it said nothing.'],
    ['one\ntwo\n', 'two.'],
    ['two.\n\n', 'two.'],
    ['{"level":"error","event":"start failed","error":"PORT is missing"}\n', 'PORT is missing.'],
    ['{"level":"info","event":"listening"}\n', 'listening.'],
    [`${'x'.repeat(20_000)}\n`, `${'x'.repeat(600)}.`],
  ])('are the last line that says something (%#)', (text, words) => {
    const file = join(folder, 'surface.log');
    writeFileSync(file, text);
    expect(lastWords(file)).toBe(words);
  });
});

describe('cleanEnv', () => {
  it('passes on none of the variables that a surface would judge', () => {
    expect(
      cleanEnv({ PATH: '/bin', DATABASE_URL: 'x', PORT: '1', npm_config_x: 'y', NODE_OPTIONS: '--inspect' }),
    ).toEqual({
      PATH: '/bin',
    });
  });
});
