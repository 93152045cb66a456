import { describe, expect, it } from '@jest/globals';
import type { JsonValue } from '@sealgate/json';
import { refuseVaultBytes } from './attach.ts';

const refused = (body: JsonValue): string[] => {
  try {
    refuseVaultBytes(body);
    return [];
  } catch (error) {
    const { code, faults } = error as { code: string; faults: { pointer: string }[] };
    expect(code).toBe('VAULT_BYTES_NOT_ALLOWED');
    return faults.map(({ pointer }) => pointer);
  }
};

describe('bytes in place of a reference', () => {
  it.each(['data', 'content', 'bytes', 'base64', 'body', 'file', 'DATA', 'Base64', 'bOdY'])(
    'are refused as %s',
    (name) => {
      expect(refused({ attachments: [{ ref: 'x', [name]: null }] })).toEqual([`/attachments/0/${name}`]);
      expect(refused({ [name]: 'x' })).toEqual([`/${name}`]);
      expect(refused([{ a: { b: [{ [name]: 1 }] } }])).toEqual([`/0/a/b/0/${name}`]);
    },
  );

  it('are refused as a data URI, in any case and anywhere', () => {
    expect(refused({ attachments: [{ ref: 'data:text/plain;base64,AA==' }] })).toEqual(['/attachments/0/ref']);
    expect(refused({ 'a/b': { '~': ' DATA:,x' } })).toEqual(['/a~1b/~0']);
    expect(refused('data:,x')).toEqual(['']);
  });

  it('are not reported where there are none', () => {
    expect(refused({ attachments: [{ ref: 'vault://a/data', label: 'database', sha256: 'x' }] })).toEqual([]);
  });
});
