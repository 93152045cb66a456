import { describe, expect, it } from '@jest/globals';
import { catchMutants } from './catch-mutants.ts';

describe('catchMutants', () => {
  it('names those that there are where one is unknown', async () => {
    await expect(catchMutants('none', () => Promise.resolve(true))).rejects.toThrow(
      /^There is no mutant none. There are: all, claim-forgotten, /,
    );
  });
});
