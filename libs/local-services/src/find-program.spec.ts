import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterAll, expect, it } from '@jest/globals';
import { findProgram, foldersOf } from './index.ts';

const root = mkdtempSync(join(tmpdir(), 'find-program-'));
afterAll(() => rmSync(root, { recursive: true }));

it('findProgram returns the first executable file of the name', () => {
  const folders = ['text', 'first', 'second'].map((name) => join(root, name));
  for (const folder of folders) {
    mkdirSync(folder);
    writeFileSync(join(folder, 'tool'), '', { mode: folder.endsWith('text') ? 0o644 : 0o755 });
  }
  const path = ['', join(root, 'missing'), ...folders].join(delimiter);
  expect(foldersOf(path)).toEqual([join(root, 'missing'), ...folders]);
  expect(findProgram('tool', foldersOf(path))).toBe(join(root, 'first/tool'));
  expect(findProgram('other', foldersOf(path))).toBeUndefined();
  expect(foldersOf(undefined)).toEqual([]);
});
