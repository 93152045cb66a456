import { describe, expect, it } from '@jest/globals';
import type { BenchContext } from '../bench-context.ts';
import { parseBenchOptions } from '../bench-options.ts';
import type { Generator } from '../load/generator.ts';
import type { LoadPlan, LoadResult } from '../load/load-plan.ts';
import { renderReport } from '../report.ts';
import { writes } from '../surfaces/admin.ts';
import { measureRows } from './measure-rows.ts';
import type { Row } from './row.ts';
import { rowsReport } from './rows-report.ts';
import { changeOf, ratioOf } from './summarise.ts';

const options = {
  ...parseBenchOptions([], { folder: '/', dataFolder: '/' })!,
  rounds: 3,
  roundMs: 2_000,
  warmUpMs: 1_000,
  connections: 2,
};
const machine = {
  cpu: 'c',
  cores: 2,
  memoryGib: 4,
  system: 's',
  node: 'v',
  date: 'd',
  commit: 'none',
  syncMs: 1,
  inMemory: false,
};

const result = (measured: number): LoadResult => ({
  measuredMs: 2_000,
  measured,
  succeeded: measured + 2,
  refused: {},
  unlike: 0,
  unanswered: 0,
  firstProblem: null,
  p50Ms: 1,
  p99Ms: 2,
  largestMs: 3,
  cpuMs: { server: 1_900 },
  generatorCpuMs: 100,
  otherCpuMs: 50,
});

/** A row whose rounds, the warm-up first, are answered so often. */
const row = (name: string, answered: readonly number[], more: Partial<Row> = {}, answer: object = {}): Row => {
  const left = [...answered];
  const run = (_plan: LoadPlan): Promise<LoadResult> => Promise.resolve({ ...result(left.shift()!), ...answer });
  return {
    name,
    watch: [],
    load: { destinations: [] },
    warmUpRequests: 1,
    ratios: { 'of Express': 'express' },
    generator: { pid: 1, run, stop: () => undefined },
    ...more,
  };
};

function contextOf(of: Partial<typeof machine> = {}): BenchContext {
  const { signal } = new AbortController();
  // The other members of a run are not read.
  const idle = { settle: () => Promise.resolve(), tell: () => undefined };
  return { options, signal, machine: { ...machine, ...of }, ...idle } as unknown as BenchContext;
}

async function reportOf(rows: readonly Row[], of: Partial<typeof machine> = {}) {
  const context = contextOf(of);
  const measured = await measureRows(context, rows);
  return rowsReport(context, { title: 'Rows', measured: { server: measured }, notes: [] });
}

const express = row('express', [1, 60_000, 20_000, 40_000]);
const finds: Partial<Row> = {
  findings: (self, of) => [{ target: 'singlesOfExpress', value: ratioOf(self, of('express')) }],
};

describe('a table of rows', () => {
  it('shows the medians of the rounds, and the median of the ratios of neighbouring rounds', async () => {
    const single = row('single', [1, 30_000, 20_000, 20_000], { recordsPerRequest: 100, ...finds });
    const { tables, findings, withheld } = await reportOf([{ ...express, generator: express.generator! }, single]);
    expect(withheld).toEqual([]);
    expect(tables[0]?.columns.map(({ name }) => name)).toEqual([
      ...['server', 'requests/s', 'records/s', 'p50 ms', 'p99 ms', 'worst ms', 'CPU us', 'generator us', 'of Express'],
    ]);
    expect(tables[0]?.rows[1]).toEqual([
      ...['single', '10,000', '1,000,000', '1.00', '2.00', '3.0', '95.0', '5.0', '0.50'],
    ]);
    expect(findings).toEqual([{ target: 'singlesOfExpress', value: 0.5 }]);
  });

  it('shows no ratio and no verdict where a row cannot prove its answers, and gives the reason', async () => {
    const rows = [
      row('express', [1, 2, 2, 2]),
      row('single', [1, 2, 2, 2], { ...finds, proof: (answers) => Promise.resolve([`${answers} are missing.`]) }),
    ];
    const report = await reportOf(rows);
    expect(report.withheld).toEqual(['single: 15 are missing.']);
    expect(report.tables[0]?.columns.map(({ name }) => name)).not.toContain('of Express');
    expect(report.findings).toEqual([{ target: 'singlesOfExpress', value: undefined }]);
    const text = renderReport({ machine, settings: { fsync: 'off' }, options }, [report]);
    expect(text).toContain('**Ratios are withheld.**\n\n- single: 15 are missing.');
    expect(text).toContain('fsync off');
  });

  it.each([
    [{ refused: { 503: 2 } }, 'express: 8 answers had another status (503).'],
    [{ unlike: 1 }, 'express: 4 answers were not the expected ones.'],
    [{ unanswered: 1, firstProblem: 'ECONNRESET' }, 'express: 4 requests had no answer (ECONNRESET).'],
  ])('is withheld where requests failed, of a yardstick too: %j', async (answer, reason) => {
    expect((await reportOf([row('express', [1, 2, 2, 2], {}, answer)])).withheld).toEqual([reason]);
  });

  it('is withheld where the data is in memory', async () => {
    const { withheld } = await reportOf([row('express', [1, 2, 2, 2])], { inMemory: true });
    expect(withheld[0]).toContain('in memory');
  });

  it('warms up until enough requests were answered, and not for ever', async () => {
    const many = Array.from({ length: 20 }, () => 8);
    await reportOf([row('enough', many, { warmUpRequests: 25, proof: expects(3 + 3) })]);
    await reportOf([row('slow', many, { warmUpRequests: 1_000, proof: expects(10 + 3) })]);
  });

  it('shows the worst stall of the rounds of a row that is watched', async () => {
    const stalls = [9, 2, 7, 3];
    const watchStalls: Row['watchStalls'] = async (round) => ({ result: await round(), stallMs: stalls.shift()! });
    const { tables } = await reportOf([row('express', [1, 2, 2, 2], { watchStalls })]);
    const place = tables[0]!.columns.findIndex(({ name }) => name === 'stall ms');
    expect(tables[0]!.rows[0]![place]).toBe('7.0');
  });

  it('runs what is beside each round, and does not tell the load of others then', async () => {
    let runs = 0;
    const beside = (): Promise<void> => Promise.resolve(void (runs += 1));
    const report = await reportOf([row('express', [1, 2, 2, 2], { beside })]);
    expect(runs).toBe(3);
    expect(report.notes.at(-1)).toBe('This system does not report its other load.');
  });

  it('shows failures of a row that counts them, and withholds nothing', async () => {
    const failing = { refused: { 503: 2 }, unlike: 1, unanswered: 1 };
    const { tables, withheld } = await reportOf([
      row('express', [1, 2, 2, 2]),
      row('restarted', [1, 2, 2, 2], { countsFailures: true }, failing),
    ]);
    expect(withheld).toEqual([]);
    const place = tables[0]!.columns.findIndex(({ name }) => name === 'failed');
    // Four of each of three rounds.
    expect(tables[0]!.rows.map((cells) => cells[place])).toEqual(['-', '12']);
  });

  it('runs a pair in one order, then in the other', async () => {
    const order: string[] = [];
    const one = (name: string): Row => {
      const run: Generator['run'] = () => {
        order.push(name);
        return Promise.resolve(result(8));
      };
      return row(name, [], { generator: { pid: 1, run, stop: () => undefined } });
    };
    await measureRows(contextOf(), [one('express'), [one('before'), one('after')]], 2);
    expect(order.slice(3)).toEqual([...['express', 'before', 'after'], ...['express', 'after', 'before']]);
    const speeds = { before: [100, 200, 400, 300], after: [110, 180, 360, 330] };
    expect(changeOf({ speeds: speeds.before }, { speeds: speeds.after })).toEqual({
      ratio: 1.02,
      least: 0.9,
      greatest: 1.1,
    });
  });

  it('sends a list in turn, each round where the last has ended', async () => {
    const starts: (number | undefined)[] = [];
    const generator: Row['generator'] = {
      pid: 1,
      stop: () => undefined,
      run: ({ firstRequest }) => {
        starts.push(firstRequest);
        return Promise.resolve(result(8));
      },
    };
    await reportOf([row('checks', [], { generator, load: { destinations: [], firstRequest: 0 } })]);
    expect(starts).toEqual([0, 10, 20, 30]);
  });
});

/** Every round has ten answers, those after its end included. */
const expects = (rounds: number) => (answers: number) => {
  expect(answers).toBe(rounds * 10);
  return Promise.resolve([]);
};

describe('the proof of writes', () => {
  const on = { fsync: 'on', synchronous_commit: 'on', full_page_writes: 'on' };
  const faults = (inLedger: number, settings: Record<string, string> = on) => {
    // Only the count is asked for.
    const sql = { query: () => Promise.resolve([{ rows: String(inLedger) }]) } as unknown as Parameters<
      typeof writes
    >[0]['sql'];
    return writes({ sql, settings }, ['a.main'], 100).proof(5);
  };

  it('accepts a durable run whose ledger contains the acknowledged records', async () => {
    expect(await faults(500)).toEqual([]);
  });

  it.each([499, 501])('names a difference: %d', async (inLedger) => {
    expect(await faults(inLedger)).toEqual([`500 records were acknowledged, the ledger holds ${inLedger}.`]);
  });

  it.each([
    [{ ...on, fsync: 'off' }, 'fsync of PostgreSQL is off.'],
    [{ ...on, synchronous_commit: 'local' }, 'synchronous_commit of PostgreSQL is local.'],
    [{ ...on, full_page_writes: 'off' }, 'full_page_writes of PostgreSQL is off.'],
    [{ ...on, fsync: undefined as unknown as string }, 'fsync of PostgreSQL is undefined.'],
  ])('names commits that are not durable: %j', async (settings, reason) => {
    expect(await faults(500, settings)).toEqual([reason]);
  });
});
