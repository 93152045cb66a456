import { describe, expect, it } from '@jest/globals';
import type { LoadResult } from '../load/load-plan.ts';
import { readsReport, summariseReads, type ReadsMeasured } from './reads-report.ts';
import type { ReadRow } from './reads-rows.ts';

const round = (measured: number): LoadResult => ({
  ...{ measuredMs: 1_000, measured, succeeded: measured, refused: {}, unlike: 0, unanswered: 0, firstProblem: null },
  ...{ p50Ms: 2, p99Ms: 9, largestMs: 12, usage: {}, generatorCpuMs: 10, otherCpuMs: 0 },
});
const row = (kind: ReadRow['kind'], measured: number): ReadRow => ({
  ...{ name: kind, kind, warmUpRequests: 1, warmUps: [], rounds: [round(measured)], steady: [round(200)] },
  plan: { port: 1, path: '/', headers: {}, body: '', keyPrefix: 'none', watch: [] },
});
const rows = [row('express', 1_000), row('rest', 250), row('mcp', 100)];
const pages = 4 + 250 + 200 + 100 + 200;
const settings = { fsync: 'on', synchronous_commit: 'on', full_page_writes: 'on' };

const measured: ReadsMeasured = {
  site: { settings },
  fillMs: 1_000,
  walk: { cursors: ['c'], items: 200, envelope: '{}', verified: 2, faults: [] },
  plan: { nodes: ['Limit', 'Index Scan'], index: 'resources_walk', faults: [] },
  counts: { sequentialScans: 0, indexScans: pages, entries: pages * 101 },
  coldReads: 4,
  cold: [
    { page: 1, p50Ms: 2, p99Ms: 3 },
    { page: 2, p50Ms: 2.1, p99Ms: 3 },
  ],
  rows,
  summaries: rows.map(summariseReads),
};
const options = { connections: 64, rounds: 1, roundMs: 1_000 };
// The other members of a run are not read.
const context = { options, machine: { inMemory: false } } as Parameters<typeof readsReport>[0];
const reportOf = (more: Partial<ReadsMeasured>) => readsReport(context, { ...measured, ...more });

describe('the report on reads', () => {
  it('compares the numbers with their targets', () => {
    const { withheld, findings } = reportOf({});
    expect(withheld).toEqual([]);
    expect(findings).toEqual([
      { target: 'readsOfExpress', value: 0.25, of: 'Express at - us of CPU a request' },
      { target: 'readsByMcp', value: 0.4 },
      { target: 'readsLatency', value: 9 },
      { target: 'readsFarPage', value: 1.05, of: 'page 2' },
    ]);
  });

  it.each<[string, Partial<ReadsMeasured>]>([
    ['met 199 assets', { walk: { ...measured.walk, faults: ['The walk met 199 assets, and there are 200.'] } }],
    ['sorts', { plan: { ...measured.plan, faults: ['The plan of a page sorts: Sort.'] } }],
    ['whole table 1 times', { counts: { ...measured.counts, sequentialScans: 1 } }],
    ['entries of the index', { counts: { ...measured.counts, entries: pages * 102 } }],
    ['scans of the index for', { counts: { ...measured.counts, indexScans: pages + 1 } }],
    ['no full page', { summaries: measured.summaries.map((one) => ({ ...one, unlike: 1 })) }],
    ['answers were not 200', { summaries: measured.summaries.map((one) => ({ ...one, refused: 1 })) }],
    ['fsync is off', { site: { settings: { ...settings, fsync: 'off' } } }],
  ])('withholds every number where something is wrong: %s', (why, more) => {
    const { withheld, findings } = reportOf(more);
    expect(withheld.join(' ')).toContain(why);
    expect(findings.map(({ value }) => value)).toEqual([undefined, undefined, undefined, undefined]);
  });
});
