import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { JsonValue } from '@sealgate/json';
import { stripSensitive } from './sensitive-names.ts';

describe('stripping', () => {
  it.each(['password', 'ssn', 'social_security_number', 'credit_card', 'credit_card_number', 'cvv', 'PASSWORD', 'Cvv'])(
    'removes %s',
    (name) => {
      expect(stripSensitive({ [name]: 'secret', kept: 1 })).toEqual({ value: { kept: 1 }, removed: 1 });
    },
  );

  it.each(['passwords', 'pass_word', ' ssn', 'ſsn', 'cvv2', 'credit-card', 'password_hash'])(
    'keeps %s: names are exact, and only ASCII folds',
    (name) => {
      expect(stripSensitive({ [name]: 1 })).toEqual({ value: { [name]: 1 }, removed: 0 });
    },
  );

  it('reaches any depth, through arrays too, and counts a member with its content once', () => {
    const value = { a: [{ cvv: 1, b: [[{ SSN: { password: 2 } }]] }], password: { cvv: 1 } };
    expect(stripSensitive(value)).toEqual({ value: { a: [{ b: [[{}]] }] }, removed: 3 });
  });

  it('returns a value without sensitive members uncopied', () => {
    const value = { a: [{ b: 1 }], c: null };
    expect(stripSensitive(value).value).toBe(value);
  });

  it('does not change its input', () => {
    const value = { a: [{ cvv: 1 }] };
    stripSensitive(value);
    expect(value).toEqual({ a: [{ cvv: 1 }] });
  });

  it('takes one pass at any depth', () => {
    let value: JsonValue = { cvv: 1 };
    for (let depth = 0; depth < 60; depth += 1) value = { kept: depth, inner: value };
    expect(stripSensitive(value).removed).toBe(1);
  });

  it('leaves nothing to strip, for every JSON value', () => {
    const names = fc.oneof(fc.constantFrom('password', 'SSN', 'cvv', 'x'), fc.string());
    const json = fc.letrec<{ value: JsonValue }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        fc.integer(),
        fc.string(),
        fc.array(tie('value'), { maxLength: 4 }),
        fc.dictionary(names, tie('value'), { maxKeys: 4, noNullPrototype: true }),
      ),
    })).value;
    fc.assert(
      fc.property(json, (value) => {
        const once = stripSensitive(value);
        expect(stripSensitive(once.value)).toEqual({ value: once.value, removed: 0 });
      }),
    );
  });
});
