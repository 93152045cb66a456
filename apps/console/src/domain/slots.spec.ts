import { describe, expect, it } from '@jest/globals';
import { Slots } from './slots.ts';

const LIMITS = { total: 10, perHolder: 3, strangers: 5 };
const person = (subject: string) => ({ issuer: 'https://login.example.com', subject });
const stranger = (address: string) => ({ address });
const take = (slots: Slots, holder: Parameters<Slots['take']>[0], times: number) =>
  Array.from({ length: times }, () => slots.take(holder));

describe('slots', () => {
  it('leave room for others whatever one person or address holds', () => {
    const slots = new Slots(LIMITS);
    take(slots, person('ada'), 3);
    expect(() => slots.take(person('ada'))).toThrow(expect.objectContaining({ code: 'RATE_LIMITED' }));
    take(slots, person('bob'), 3);
    take(slots, stranger('192.0.2.1'), 3);
    expect(() => slots.take(stranger('192.0.2.1'))).toThrow(expect.objectContaining({ code: 'RATE_LIMITED' }));
    slots.take(stranger('192.0.2.2'));
    expect(() => slots.take(person('eve'))).toThrow(expect.objectContaining({ code: 'OVERLOADED' }));
  });

  it('are never all taken by strangers', () => {
    const slots = new Slots(LIMITS);
    for (const address of ['192.0.2.1', '192.0.2.2', '192.0.2.3', '192.0.2.4', '192.0.2.5']) slots.take({ address });
    expect(() => slots.take(stranger('192.0.2.6'))).toThrow(expect.objectContaining({ code: 'OVERLOADED' }));
    expect(take(slots, person('ada'), 3)).toHaveLength(3);
  });

  it('are free again after their release, which counts once', () => {
    const slots = new Slots(LIMITS);
    const [first, second] = take(slots, person('ada'), 3);
    first!();
    first!();
    slots.take(person('ada'));
    expect(() => slots.take(person('ada'))).toThrow('under way');
    second!();
    slots.take(person('ada'));
  });
});
