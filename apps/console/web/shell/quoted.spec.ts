import { expect, it } from '@jest/globals';
import { isolated, quoted } from './quoted.ts';

it('isolates names with right-to-left text or bidirectional controls, and returns others unchanged', () => {
  expect(quoted('Orders')).toBe('“Orders”');
  expect(quoted('Größe – 大')).toBe('“Größe – 大”');
  for (const name of ['הזמנות', 'طلبات', 'a\u202eb']) expect(quoted(name)).toBe(`“\u2068${name}\u2069”`);
  expect(isolated('הזמנות')).toBe('\u2068הזמנות\u2069');
});
