import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { callableFunctions, checkFiles, migrationSet } from './migration-set.ts';

let lib: string;
beforeEach(() => {
  lib = mkdtempSync(join(tmpdir(), 'migration-set-'));
  mkdirSync(join(lib, 'src'));
});
afterEach(() => rmSync(lib, { recursive: true }));

const from = (): string => pathToFileURL(join(lib, 'src', 'index.ts')).href;
const setOf = (...files: string[]): { name: string; schema: string; directory: string } => {
  const directory = join(lib, 'migrations');
  mkdirSync(directory);
  for (const file of files) writeFileSync(join(directory, file), '');
  return { name: 'n', schema: 's', directory };
};

describe('migrationSet', () => {
  it('finds the migrations next to the sources of a lib', () => {
    mkdirSync(join(lib, 'migrations'));
    expect(migrationSet({ name: 'keys', schema: 'ingest', from: from() })).toEqual({
      name: 'keys',
      schema: 'ingest',
      directory: join(lib, 'migrations'),
    });
  });

  it('prefers those next to a bundle under the name of the set', () => {
    mkdirSync(join(lib, 'migrations'));
    mkdirSync(join(lib, 'src', 'migrations', 'keys'), { recursive: true });
    const { directory } = migrationSet({ name: 'keys', schema: 'ingest', from: from() });
    expect(directory).toBe(join(lib, 'src', 'migrations', 'keys'));
  });

  it('finds those of an app next to its Prisma schema', () => {
    mkdirSync(join(lib, 'prisma', 'migrations'), { recursive: true });
    const { directory } = migrationSet({ name: 'ingest', schema: 'ingest', from: from() });
    expect(directory).toBe(join(lib, 'prisma', 'migrations'));
  });

  it('names the searched folders when there are none', () => {
    expect(() => migrationSet({ name: 'keys', schema: 'ingest', from: from() })).toThrow(join(lib, 'migrations'));
  });

  it.each(['', 'Keys', '1keys', 'a b', 'a"b', 'a'.repeat(42)])('refuses %j as a name or a schema', (text) => {
    mkdirSync(join(lib, 'migrations'));
    expect(() => migrationSet({ name: text, schema: 'ingest', from: from() })).toThrow('is not a valid name');
    expect(() => migrationSet({ name: 'keys', schema: text, from: from() })).toThrow('is not a valid name');
  });
});

describe('callableFunctions', () => {
  it('are the SECURITY DEFINER ones that all files together leave', () => {
    const set = setOf('0001_a.sql', '0002_b.sql');
    writeFileSync(
      join(set.directory, '0001_a.sql'),
      `-- Up Migration
CREATE FUNCTION inner_one(id int) RETURNS int LANGUAGE sql RETURN id;
CREATE FUNCTION one(
  id int) RETURNS int
LANGUAGE sql SECURITY DEFINER SET search_path = ledger AS $$ SELECT inner_one(id) $$;
CREATE FUNCTION two() RETURNS int LANGUAGE sql AS 'SELECT 2';
CREATE FUNCTION three(id int, name text) RETURNS int LANGUAGE sql SECURITY DEFINER AS 'SELECT 3';
-- Down Migration
DROP FUNCTION one;
`,
    );
    writeFileSync(
      join(set.directory, '0002_b.sql'),
      `CREATE OR REPLACE FUNCTION four() RETURNS int LANGUAGE sql SECURITY DEFINER AS 'SELECT 4';
DROP FUNCTION two, three(int, text);
`,
    );
    expect(callableFunctions(set)).toEqual(['one', 'four']);
  });
});

describe('checkFiles', () => {
  it('accepts numbered SQL files and ignores hidden ones', () => {
    expect(() => checkFiles(setOf('0001_api_keys.sql', '0002_b2.sql', '.gitkeep'))).not.toThrow();
  });

  it.each(['0001_a.js', '1_a.sql', '0001-a.sql', '0001_A.sql', 'notes.md', '0001_a.down.sql'])('refuses %s', (file) => {
    expect(() => checkFiles(setOf('0002_b.sql', file))).toThrow(file);
  });

  it('refuses a duplicate number', () => {
    expect(() => checkFiles(setOf('0001_a.sql', '0001_b.sql'))).toThrow('the same number');
  });
});
