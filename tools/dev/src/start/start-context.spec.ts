import { describe, expect, it } from '@jest/globals';
import { releaseStack } from './start-context.ts';

describe('releaseStack', () => {
  it('releases in reverse order, once, even if one release fails', async () => {
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
