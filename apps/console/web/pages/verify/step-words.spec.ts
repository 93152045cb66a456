import { describe, expect, it } from '@jest/globals';
import { vectors } from '@sealgate/verify/vectors';
import { askedBy, failureInWords } from './step-words.ts';

describe('the steps of a check', () => {
  it('are in words, each once, for whatever the shared files fail by', () => {
    for (const { failed } of vectors)
      for (const step of failed) expect([step, failureInWords([step])]).toEqual([step, expect.any(String)]);
    expect(failureInWords(['content', 'leaf', 'content'])).toBe(
      'The content is not what was written; the log has another record at this place.',
    );
  });

  it('without words are their exact term, and no reason', () => {
    expect([askedBy('content'), askedBy('toString')]).toEqual(['The content is what was written', 'toString']);
    expect(failureInWords(['toString'])).toBeUndefined();
  });
});
