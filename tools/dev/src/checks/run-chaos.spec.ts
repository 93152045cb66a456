import { describe, expect, it } from '@jest/globals';
import { readOptions } from './run-chaos.ts';

describe('the options of npm run chaos', () => {
  it('are a seed, minutes, faults and surfaces', () => {
    const all = ['--seed', '7', '--minutes', '0', '--faults', 'redis-full,dns-gone', '--surfaces', 'case-gate'];
    const story = { seed: 7, minutes: 0, faults: ['redis-full', 'dns-gone'], surfaces: ['case-gate'] };
    expect(readOptions(all)).toEqual({ story, mutant: undefined, isOnFabric: false, help: false });
    expect(readOptions(['--fabric']).isOnFabric).toBe(true);
    expect(readOptions(['--seed=8']).story).toMatchObject({ seed: 8, minutes: 60, surfaces: { length: 5 } });
    expect(readOptions(['--mutant', 'all']).mutant).toBe('all');
    expect(readOptions(['--help']).help).toBe(true);
  });

  it.each([
    [['--seed', 'x']],
    [['--minutes', '-1']],
    [['--surfaces', 'nowhere']],
    [['--surfaces', 'console']],
    [['--fabric', '--surfaces', 'case-gate,console']],
    [['--what']],
    [['9']],
  ])('are refused with the usage: %j', (parameters) => {
    expect(() => readOptions(parameters)).toThrow(/Usage: npm run chaos/);
  });
});
