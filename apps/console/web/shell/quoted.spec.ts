import { expect, it } from '@jest/globals';
import { isolated, quoted } from './quoted.ts';

it('keeps a name that runs or turns from right to left apart from the words around it, and leaves others as they are', () => {
  expect(quoted('Orders')).toBe('“Orders”');
  expect(quoted('Größe – 大')).toBe('“Größe – 大”');
  for (const name of ['הזמנות', 'طلبات', 'a\u202eb']) expect(quoted(name)).toBe(`“\u2068${name}\u2069”`);
  expect(isolated('הזמנות')).toBe('\u2068הזמנות\u2069');
});
