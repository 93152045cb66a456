import { describe, expect, it } from '@jest/globals';
import { releaseStack } from './bench-context.ts';

describe('releaseStack', () => {
  it('releases in reverse, once, and continues when one fails', async () => {
    const stack = releaseStack();
    const released: string[] = [];
    stack.own('first', () => void released.push('first'));
    stack.own('second', () => Promise.reject(new Error('stuck')));
    stack.own('third', () => void released.push('third'));
    expect(await stack.releaseAll()).toEqual(['second (stuck)']);
    expect(await stack.releaseAll()).toEqual([]);
    expect(released).toEqual(['third', 'first']);
  });
});
