import { describe, expect, it } from '@jest/globals';
import { offered } from './offered-codes.ts';

const choices = [{ value: 'key.revoke', label: 'Revoke key' }];
const valuesOf = (value: string | undefined, typed: string) => offered(choices, value, typed).map((one) => one.value);

describe('what a picker of codes offers', () => {
  it('is what is known, chosen, and typed', () => {
    expect(valuesOf(undefined, '')).toEqual(['key.revoke']);
    expect(valuesOf('key.revoke', 'Revoke key')).toEqual(['key.revoke']);
    expect(valuesOf('older.code', 'older.code')).toEqual(['key.revoke', 'older.code']);
    expect(valuesOf(undefined, ' case.seal ')).toEqual(['key.revoke', 'case.seal']);
    expect(offered(choices, undefined, 'case.seal').at(-1)?.label).toBe('“case.seal” as typed');
  });
});
