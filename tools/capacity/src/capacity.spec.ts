import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { linesOf } from './capacity-lines.ts';
import { capacityOf, MOST_MEASURED, PLANNED_LOAD, type Load } from './capacity.ts';

const load: Load = {
  networks: 1,
  recordsPerSecond: 1,
  days: 1,
  batch: 1,
  keyed: true,
  dataBytes: 127,
  checksPerSecond: 0,
  databaseCores: 8,
};

/** Requests per second of a row of the results. */
function measured(name: string): number {
  const results = readFileSync(join(import.meta.dirname, '../../bench/results/costs.md'), 'utf8');
  const row = results.split('\n').find((line) => line.startsWith(`| ${name} `));
  if (row === undefined) throw new Error(`The results have no row ${name}.`);
  return Number(row.split('|')[2]!.replaceAll(',', ''));
}

describe('the plan', () => {
  // The machine of the results has two cores and carried the measured load together with the generator, so a plan that
  // fills 0.6 of two cores must promise no more than that, and not less than half of it.
  it.each([
    ['gateway, single records, without Redis', { batch: 1 }],
    ['gateway, batches of 100, without Redis', { batch: 100 }],
  ])('promises no more than was measured: %s', (name, members) => {
    const perSecond = measured(name);
    const { gateways, databaseCores } = capacityOf({ ...load, ...members, recordsPerSecond: 1_000_000 });
    const planned = 2_000_000 / (gateways + databaseCores) / (members.batch ?? 1);
    expect(planned / perSecond).toBeGreaterThan(0.5);
    expect(planned / perSecond).toBeLessThanOrEqual(1.05);
  });

  it('promises no more than was measured for the gate', () => {
    const perSecond = measured('gate, without Redis');
    const needs = capacityOf({ ...load, recordsPerSecond: 1e-6, checksPerSecond: 1_000_000 });
    const planned = 2_000_000 / (needs.gates + needs.databaseCores);
    expect(planned / perSecond).toBeGreaterThan(0.5);
    expect(planned / perSecond).toBeLessThanOrEqual(1.05);
  });
});

describe('bytes', () => {
  it('are those measured for a day', () => {
    expect(capacityOf({ ...load, batch: 100, keyed: false }).bytesPerRecord).toBe(520);
    expect(capacityOf(load).bytesPerRecord).toBe(956);
  });

  it('of events and claims end before those of records', () => {
    // 225 of 90 days and 211 of 400, in 1,000 days.
    expect(capacityOf({ ...load, days: 1_000 }).bytesPerRecord).toBeCloseTo(520 + 20.25 + 84.4, 6);
  });

  it('of a hundred million records in batches are about 50 GiB', () => {
    const { records, tableBytes } = capacityOf({ ...load, recordsPerSecond: 1e8 / 86_400, batch: 100, keyed: false });
    expect(records).toBeCloseTo(1e8, 0);
    expect(tableBytes / 2 ** 30).toBeCloseTo(48.4, 1);
  });
});

describe('limits', () => {
  it('come from a channel where one network writes everything', () => {
    expect(capacityOf({ ...load, recordsPerSecond: 6_000 })).toMatchObject({ nextLimit: 'channel', shards: 1 });
  });

  it('come from the integrator where thousands of networks write a little', () => {
    const { nextLimit, shards, integratorLoad } = capacityOf({ ...load, networks: 10_000, recordsPerSecond: 4_000 });
    // 4,000 channels a second at 438 for each of ten integrators.
    expect({ nextLimit, shards }).toEqual({ nextLimit: 'integrator', shards: 10 });
    expect(integratorLoad).toBeLessThanOrEqual(PLANNED_LOAD);
  });

  it('come from PostgreSQL where hundreds of networks write in batches', () => {
    const { nextLimit, shards, networksPerShard } = capacityOf({
      ...load,
      networks: 300,
      recordsPerSecond: 400_000,
      batch: 100,
      databaseCores: 4,
      days: 30,
    });
    // 4,000 requests a second of 84 + 100 x 14.4 us, at 0.6 of a core: 10.2 cores.
    expect({ nextLimit, shards, networksPerShard }).toEqual({
      nextLimit: 'PostgreSQL',
      shards: 3,
      networksPerShard: 100,
    });
  });
});

describe('a line of the plan', () => {
  const aDay = (count: number): number => count / 86_400;
  const lines = (more: Partial<Load>) => new Map(linesOf({ ...load, ...more }).map((line) => [line.name, line]));
  const basisOf = (name: string, more: Partial<Load>) => lines(more).get(name)?.basis;

  it.each<[string, Partial<Load>]>([
    ['tables and indexes', { recordsPerSecond: aDay(1.1 * MOST_MEASURED.records) }],
    ['tables and indexes', { recordsPerSecond: 1e-6, checksPerSecond: aDay(1.1 * MOST_MEASURED.decisions) }],
    ['disk, with WAL, VACUUM and room for a restore', { recordsPerSecond: aDay(1.1 * MOST_MEASURED.records) }],
    ['cores of PostgreSQL', { recordsPerSecond: 100_000, batch: 100, networks: 100 }],
    ['processes of the ingest gateway, one core each', { recordsPerSecond: 20_000 }],
    ['processes of the case gate, one core each', { checksPerSecond: 60_000 }],
    ['shards, PostgreSQL servers of 8 cores', { networks: 400 }],
  ])('tells no number beyond what was measured: %s of %j', (name, more) => {
    expect(basisOf(name, more)).toBe('unknown');
    expect(lines(more).get(name)?.value).toMatch(/^[0-9,]+ .+ a server; measured up to [0-9,]+$/);
  });

  it('is computed from what was measured within that', () => {
    expect(lines({ recordsPerSecond: 10, days: 1, batch: 100, keyed: false }).get('tables and indexes')).toEqual({
      name: 'tables and indexes',
      basis: 'computed',
      value: '428.5 MiB',
    });
    expect(basisOf('bytes of tables and indexes per record', {})).toBe('measured');
    expect(basisOf('bytes of tables and indexes per record', { batch: 10 })).toBe('computed');
    expect(basisOf('bytes of tables and indexes per record', { days: 365 })).toBe('computed');
  });
});

describe('the command', () => {
  const program = join(import.meta.dirname, 'main.ts');
  it('prints the requirements of a load', () => {
    const text = execFileSync(process.execPath, [program, '--networks', '20', '--rate', '2000', '--batch', '10'], {
      encoding: 'utf8',
    });
    expect(text).toContain('requests per second');
    expect(text).toMatch(/records after 365 days +computed +63,072,000,000\n/);
    expect(text).toMatch(/bytes of tables and indexes per record +computed +547\n/);
    expect(text).toMatch(/next limit +computed +(channel|integrator|PostgreSQL)\n/);
    expect(text).toMatch(/tables and indexes +unknown +63,072,000,000 records a server; measured up to [0-9,]+\n/);
  });

  it.each([
    ['--rate', 'many'],
    ['--batch', '101'],
    ['--networks', '0'],
    ['--speed', '9'],
  ])('refuses %s %s', (name, value) => {
    const { status, stderr } = spawnSync(process.execPath, [program, name, value], { encoding: 'utf8' });
    expect(status).toBe(2);
    expect(stderr).toContain(name);
    expect(stderr).toContain('Usage: npm run capacity');
  });
});
