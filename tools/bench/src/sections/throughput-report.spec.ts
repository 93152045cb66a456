import { describe, expect, it } from '@jest/globals';
import { parseBenchOptions } from '../bench-options.ts';
import { renderReport } from '../report.ts';
import { summarise } from './summarise-row.ts';
import { throughputReport } from './throughput-report.ts';
import type { Row } from './throughput-rows.ts';

const options = parseBenchOptions([], { folder: '/', dataFolder: '/' })!;

const row = (kind: Row['kind'], recordsPerRequest: number, speeds: readonly number[]): Row => ({
  ...{
    name: `${kind} with Redis`,
    kind,
    recordsPerRequest,
    destinations: [],
    body: '',
    watch: [],
    warmUpRequests: 1,
  },
  warmUps: [],
  rounds: speeds.map((speed) => ({
    ...{
      measuredMs: 2_000,
      measured: speed * 2,
      succeeded: speed * 2 + 64,
      refused: {},
      unlike: 0,
      unanswered: 0,
      firstProblem: null,
    },
    ...{ p50Ms: 1, p99Ms: 2, largestMs: 3, generatorCpuMs: 100, otherCpuMs: 50 },
    usage: { server: { cpuMs: 1_900, rssBytes: null } },
  })),
});

const rows = [
  row('express', 0, [30_000, 10_000, 20_000]),
  row('packages', 0, [12_500]),
  row('single', 1, [9_000, 10_000, 90_000]),
  row('batch', 100, [500]),
];

const report = (withheld: readonly string[]) =>
  throughputReport({
    title: 'Throughput',
    context: { options, redis: undefined },
    summaries: rows.map((one) => summarise(one, 200)),
    withheld,
    rows,
  });

describe('throughputReport', () => {
  it('compares the medians of the rounds', () => {
    const { findings, tables } = report([]);
    expect(findings.slice(0, 4).map(({ target, value }) => [target, value])).toEqual([
      ['singlesOfExpress', 0.5],
      ['singlesOfPackages', 0.8],
      ['singleCpu', 95],
      ['batchRecords', 50_000],
    ]);
    expect(findings[0]?.of).toBe('Express at 47.5 us of CPU a request');
    expect(tables[0]?.rows[2]?.slice(0, 6)).toEqual(['single with Redis', '10,000', '10,000', '1.00', '2.00', '95.0']);
    expect(tables[0]?.rows[2]?.slice(-2)).toEqual(['0.50', '0.80']);
  });

  it('compares a row with the yardstick that had as many connections', () => {
    const many = [
      { ...row('express', 0, [40_000]), connections: 256 },
      { ...row('spread', 1, [10_000]), connections: 256 },
    ];
    const all = [...rows, ...many];
    const { findings, tables } = throughputReport({
      ...{ title: 'Spread', context: { options, redis: undefined }, withheld: [], rows: all },
      summaries: all.map((one) => summarise(one, 200)),
    });
    expect(tables[0]?.rows.at(-1)?.slice(-2)).toEqual(['0.25', '-']);
    expect(findings.map(({ target }) => target)).not.toContain('spread');
  });

  it('counts what was acknowledged in every round', () => {
    expect(summarise(rows[3]!, undefined).acknowledged).toBe((1_000 + 64) * 100);
  });

  it('prints no ratio and no verdict where one is withheld, and gives the reason', () => {
    const { findings, tables } = report(['PostgreSQL: fsync is off.']);
    expect(tables[0]?.rows.map((cells) => cells.slice(-2))).toEqual(rows.map(() => ['-', '-']));
    expect(findings.filter(({ target }) => target !== 'memory').every(({ value }) => value === undefined)).toBe(true);
    const machine = {
      ...{ cpu: 'c', cores: 2, memoryGib: 4, system: 's', node: 'v', date: 'd', commit: 'none', syncMs: 1 },
      inMemory: false,
    };
    const text = renderReport({ machine, settings: { fsync: 'off' }, options }, [
      report(['PostgreSQL: fsync is off.']),
    ]);
    expect(text).toContain('**Ratios are withheld.**\n\n- PostgreSQL: fsync is off.');
    expect(text).toContain('fsync off');
  });
});
