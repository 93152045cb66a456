import { describe, expect, it } from '@jest/globals';
import { releaseStack } from './release-stack.ts';

describe('releaseStack', () => {
  it('releases in reverse, all of it even when one fails, and once', async () => {
    const released: string[] = [];
    const stack = releaseStack();
    const error = new Error('stuck');
    stack.own('first', () => void released.push('first'));
    stack.own('second', () => Promise.reject(error));
    stack.own('third', async () => void released.push('third'));
    expect(await stack.releaseAll()).toEqual([{ name: 'second', error }]);
    expect(released).toEqual(['third', 'first']);
    expect(await stack.releaseAll()).toEqual([]);
  });
});
