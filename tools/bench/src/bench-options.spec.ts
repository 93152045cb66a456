import { describe, expect, it } from '@jest/globals';
import { parseBenchOptions } from './bench-options.ts';

const folders = { folder: '/home/me', dataFolder: '/checkout/tmp' };
const parse = (...parameters: string[]) => parseBenchOptions(parameters, folders);

describe('parseBenchOptions', () => {
  it('measures the gateway by default', () => {
    expect(parse()).toMatchObject({
      sections: ['throughput', 'ledger', 'bodies'],
      rounds: 5,
      roundMs: 5_000,
      connections: 64,
      ledgerRecords: 1_000_000,
      build: true,
      quick: false,
      dataFolder: '/checkout/tmp',
      jsonFile: undefined,
    });
  });

  it('selects sections, in the order of the report', () => {
    expect(parse('--sections', 'bodies,throughput')?.sections).toEqual(['throughput', 'bodies']);
    expect(parse('--profile', '--sections', 'ledger')).toMatchObject({ sections: ['ledger'], profile: true });
    expect(parse('--against', '../before')).toMatchObject({ sections: ['pair'], against: '/home/before' });
  });

  it('fills surfaces of a size, and measures only that', () => {
    expect(parse('--size', 'L')).toMatchObject({ sections: ['size'], size: 'L', sizedSurfaces: ['d', 'b', 'a'] });
    expect(parse('--size', 'S', '--surface', 'b')).toMatchObject({ size: 'S', sizedSurfaces: ['b'] });
    expect(parse('--sections', 'ledger,size')).toMatchObject({ sections: ['ledger', 'size'], size: 'M' });
  });

  it('accepts options before --quick, and resolves files against the folder of the call', () => {
    const options = parse('--quick', '--rounds', '2', '--seconds', '0.5', '--json', 'out.json', '--data', '/mnt/disk');
    expect(options).toMatchObject({ quick: true, rounds: 2, roundMs: 500, ledgerRecords: 100_000 });
    expect(options).toMatchObject({ jsonFile: '/home/me/out.json', dataFolder: '/mnt/disk' });
  });

  it('returns undefined for --help', () => {
    expect(parse('--help')).toBeUndefined();
  });

  it.each([
    [['--sections', 'speed'], 'There is no section speed'],
    [['--rounds', '0'], '--rounds must be a number of at least 1'],
    [['--rounds', '1.5'], '--rounds must be a number'],
    [['--connections', 'many'], '--connections must be a number'],
    [['--records', '1050'], 'multiple of 100'],
    [['--sections', 'pair'], 'needs --against DIR'],
    [['--size', 'XL'], '--size is one of S, M, L, not XL'],
    [['--surface', 'c'], '--surface is one of d, b, a, not c'],
    [['--faster'], 'faster'],
  ])('refuses %j', (parameters, problem) => {
    expect(() => parse(...parameters)).toThrow(problem);
  });
});
