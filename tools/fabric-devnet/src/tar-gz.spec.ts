import { execFileSync } from 'node:child_process';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { tarGz } from './tar-gz.ts';

const tarOf = (files: Readonly<Record<string, string | Buffer>>, modifiedSeconds = 0): Buffer =>
  gunzipSync(
    tarGz(
      Object.entries(files).map(([path, content]) => ({ path, bytes: Buffer.from(content) })),
      modifiedSeconds,
    ),
  );

describe('a tar archive', () => {
  it('can be extracted by tar, and is sorted by path', () => {
    const archive = tarOf({ 'metadata.json': '{"type":"ccaas"}', empty: '', [`${'deep/'.repeat(40)}file`]: 'x' });
    const listed = execFileSync('tar', ['-tvf', '-'], { input: archive, encoding: 'utf8' }).trim().split('\n');
    expect(listed.map((line) => line.split(/\s+/).at(-1))).toEqual([
      `${'deep/'.repeat(40)}file`,
      'empty',
      'metadata.json',
    ]);
    expect(execFileSync('tar', ['-xOf', '-', 'metadata.json'], { input: archive, encoding: 'utf8' })).toBe(
      '{"type":"ccaas"}',
    );
  });

  it('consists of whole blocks and ends with two empty ones, for any file size', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 2_000 }), (size) => {
        const archive = tarOf({ f: Buffer.alloc(size, 1) });
        expect(archive.length).toBe(512 + 512 * Math.ceil(size / 512) + 1_024);
        expect(archive.subarray(-1_024).every((byte) => byte === 0)).toBe(true);
      }),
    );
  });

  it('is the same for the same files in any order', () => {
    expect(tarOf({ a: 'x', b: 'y' })).toEqual(tarOf({ b: 'y', a: 'x' }));
    expect(tarOf({ a: 'x' })).not.toEqual(tarOf({ a: 'y' }));
    expect(tarOf({ a: 'x' }, 1)).not.toEqual(tarOf({ a: 'x' }, 2));
  });

  it('rejects a name that is too long', () => {
    expect(() => tarOf({ ['n'.repeat(101)]: '' })).toThrow('too long');
  });
});
