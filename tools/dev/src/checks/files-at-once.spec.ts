import { describe, expect, it } from '@jest/globals';
import { filesAtOnce } from './files-at-once.ts';

describe('files of tests at once', () => {
  it.each([
    ['two on a core', 2, 40, 4],
    ['four at most', 8, 40, 4],
    ['three on two cores in between', 2, 52, 3],
    ['one on a core where programs start slowly', 2, 140, 2],
  ])('%s', (_what, cores, startMs, files) => {
    expect(filesAtOnce(cores, startMs)).toBe(files);
  });

  it('are known of this machine', () => {
    expect(filesAtOnce()).toBeGreaterThanOrEqual(1);
  });
});
