import { describe, expect, it } from '@jest/globals';
import { prefersAsync } from './assets.ts';

describe('Prefer', () => {
  it.each([
    'respond-async',
    'Respond-Async',
    ' respond-async ',
    'wait=1, respond-async',
    'respond-async;x=1',
    'respond-async="1"',
  ])('asks not to wait: %s', (prefer) => expect(prefersAsync(prefer)).toBe(true));

  it.each([undefined, '', 'wait=1', 'respond-asynchronously', 'not-respond-async', 'x="respond-async"'])(
    'does not: %s',
    (prefer) => expect(prefersAsync(prefer)).toBe(false),
  );
});
