import { describe, expect, it } from '@jest/globals';
import { totalInWords, totalOf } from './total.ts';

const answer = (total?: string): Response =>
  new Response('', total === undefined ? {} : { headers: { 'X-Total-Count': total } });

describe('the total of a list', () => {
  it('is a number, or a bound where the service stops counting', () => {
    expect(totalOf(answer('1234'))).toBe(1234);
    expect(totalOf(answer('10000+'))).toBe('10000+');
    expect(totalOf(answer())).toBeUndefined();
  });

  it('is written with separators, the bound with its sign', () => {
    expect(totalInWords(1234)).toBe('1,234');
    expect(totalInWords('10000+')).toBe('10,000+');
  });
});
