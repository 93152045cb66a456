import { createHash } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { tarOf } from './contract-package.ts';

describe('a tar archive', () => {
  it('can be extracted by tar', () => {
    const archive = tarOf({ 'metadata.json': '{"type":"ccaas"}', empty: '' });
    const listed = execFileSync('tar', ['-tvf', '-'], { input: archive, encoding: 'utf8' }).trim().split('\n');
    expect(listed.map((line) => line.split(/\s+/).at(-1))).toEqual(['metadata.json', 'empty']);
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

  it('is reproducible', () => {
    const hashOf = (archive: Buffer): string => createHash('sha256').update(archive).digest('hex');
    expect(hashOf(tarOf({ a: 'x' }))).toBe(hashOf(tarOf({ a: 'x' })));
    expect(hashOf(tarOf({ a: 'x' }))).not.toBe(hashOf(tarOf({ a: 'y' })));
  });

  it('rejects a name that is too long', () => {
    expect(() => tarOf({ ['n'.repeat(101)]: '' })).toThrow('too long');
  });
});
