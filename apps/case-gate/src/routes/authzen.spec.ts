import { describe, expect, it } from '@jest/globals';
import { echoRequestId } from './authzen.ts';

const echoed = (...sent: string[]) => echoRequestId({ header: (name) => (name === 'x-request-id' ? sent : []) });

describe('X-Request-Id on the AuthZEN endpoints', () => {
  it.each(['usual', 'a "b", c', 'a\tb', '\u00e9'.repeat(1024)])('is echoed unchanged: %j', (sent) => {
    expect(echoed(sent)).toEqual({ 'X-Request-Id': sent });
  });

  it('is replaced above 1 KiB, when absent, empty and when sent twice', () => {
    for (const sent of [['x'.repeat(1025)], [], [''], ['a', 'a']]) expect(echoed(...sent)).toEqual({});
  });
});
