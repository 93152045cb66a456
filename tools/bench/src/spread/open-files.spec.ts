import { describe, expect, it } from '@jest/globals';
import { connectionsWithin, openFilesLimit } from './open-files.ts';

const limits = `Limit                     Soft Limit           Hard Limit           Units
Max processes             93863                93863                processes
Max open files            1024                 4096                 files
`;

describe('open files', () => {
  it('are limited by the hard limit, where it is known', () => {
    expect(openFilesLimit(limits)).toBe(4_096);
    expect(openFilesLimit('')).toBe(Number.POSITIVE_INFINITY);
    expect(openFilesLimit(limits.replace('4096', 'unlimited'))).toBe(Number.POSITIVE_INFINITY);
  });

  it('leave out numbers of connections beyond the limit, and say what to do', () => {
    expect(connectionsWithin([256, 1_000], 1_200)).toEqual({ connections: [256, 1_000], said: [] });
    expect(connectionsWithin([256, 1_000], 1_199)).toEqual({
      connections: [256],
      said: [
        'Rows with 1000 connections are left out: they need 1200 open files in a process, and this system allows 1199. Raise the hard limit (`ulimit -Hn`).',
      ],
    });
  });
});
