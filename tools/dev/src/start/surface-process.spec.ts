import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { cleanEnv, lastWords } from './surface-process.ts';

describe('the last log line of a surface', () => {
  let folder = '';
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'sealgate-log-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it.each([
    ['', 'no output.'],
    ['one\ntwo\n', 'two.'],
    ['two.\n\n', 'two.'],
    ['{"level":"error","event":"start failed","error":"PORT is missing"}\n', 'PORT is missing.'],
    ['{"level":"info","event":"listening"}\n', 'listening.'],
    [`${'x'.repeat(20_000)}\n`, `${'x'.repeat(600)}.`],
  ])('is the last line with content (%#)', (text, words) => {
    const file = join(folder, 'surface.log');
    writeFileSync(file, text);
    expect(lastWords(file)).toBe(words);
  });
});

describe('cleanEnv', () => {
  it('drops variables that a surface would reject', () => {
    expect(
      cleanEnv({ PATH: '/bin', DATABASE_URL: 'x', PORT: '1', npm_config_x: 'y', NODE_OPTIONS: '--inspect' }),
    ).toEqual({
      PATH: '/bin',
    });
  });
});
