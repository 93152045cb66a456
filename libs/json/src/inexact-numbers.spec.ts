import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { inexactNumbers, pointerIn } from './index.ts';

const found = (text: string) => inexactNumbers(text).map(({ token, start }) => [pointerIn(text, start), token]);

describe('inexactNumbers', () => {
  it('finds the numbers that a double changes, with their pointers', () => {
    expect(found('9007199254740993')).toEqual([['', '9007199254740993']]);
    expect(found('{"é":[1,{"a/b":-9007199254740993}],"x":1e400,"y":1e-400}')).toEqual([
      ['/é/1/a~1b', '-9007199254740993'],
      ['/x', '1e400'],
      ['/y', '1e-400'],
    ]);
    expect(found('[0.12345678901234567890,820982911946154508]')).toEqual([
      ['/0', '0.12345678901234567890'],
      ['/1', '820982911946154508'],
    ]);
  });

  it.each([
    '[0,-0,1.10,1E30,1e+2,0.1,9007199254740991,9007199254740992,333333333.33333329]',
    '[true,false,null,"9007199254740993","\\"9007199254740993",{"9007199254740993":"\\\\"}]',
    '',
  ])('finds none in %s', (text) => {
    expect(inexactNumbers(text)).toEqual([]);
  });

  it('finds none in what JavaScript prints', () => {
    fc.assert(
      fc.property(fc.jsonValue({ noUnicodeString: false }), (value) => found(JSON.stringify(value)).length === 0),
    );
  });

  it('takes linear time for a long string or many levels', () => {
    const started = performance.now();
    expect(inexactNumbers(`"${'\\"'.repeat(4_000_000)}"`)).toEqual([]);
    expect(inexactNumbers(`${'['.repeat(1_000_000)}9007199254740993`)).toHaveLength(1);
    expect(performance.now() - started).toBeLessThan(3000);
  });
});
