import { expect, it } from '@jest/globals';
import { defined } from './defined.ts';

it('defined keeps the members that are not undefined, null included', () => {
  expect(defined({ a: 1, b: undefined, c: null, d: false })).toStrictEqual({ a: 1, c: null, d: false });
});
