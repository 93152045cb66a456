import { writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { throwawayPostgres, type OwnPostgres } from '@sealgate/testing';
import { setupTimeoutMs } from './harness/contract-setup.ts';
import { filledGate, filledGateway, filledRisk } from './harness/filled-surfaces.ts';
import { statusOf } from './harness/hostile-readers.ts';
import type { HttpClient } from './harness/http-client.ts';
import { isFull } from './harness/scale.ts';
import { explained, explainingSettings, statementTable } from './harness/statement-list.ts';

// Every route that looks is asked for, with every filter, at many rows a table; the server tells the plan of each
// statement. None may read a large table as a whole, or more rows than a count of 10,001 takes.

const COUNT = isFull ? 1_000_000 : 200_000;
/** Of a list with filters so many rows are tried before another way is taken; see the README of the risk partner. */
const MOST_ROWS = 60_000;
const storyMs = isFull ? 3_600_000 : 1_500_000;

let postgres: OwnPostgres;
beforeEach(async () => {
  postgres = await throwawayPostgres({ own: true, settings: explainingSettings });
}, setupTimeoutMs);
afterEach(() => postgres.stop());

interface Asking {
  readonly client: HttpClient;
  readonly headers: Readonly<Record<string, string>>;
  readonly paths: readonly string[];
}

/** Asks for every path once. None may fail, or take too long to answer. */
async function askAll(all: readonly Asking[]): Promise<string[]> {
  const failed: string[] = [];
  for (const { paths, ...asking } of all)
    for (const path of paths) {
      const status = await statusOf(asking, path);
      if (status === undefined || status >= 500 || status === 429) failed.push(`${status} ${path}`);
    }
  return failed;
}

const ROUNDS = 3;

const isExport = (path: string): boolean => /\/export\b/.test(path);

/**
 * What each path takes alone, in milliseconds, the slowest first: the best of some rounds, without plans being told.
 * Exports are as long as their rows are many.
 */
async function answerTimes(all: readonly Asking[]): Promise<string> {
  const times = new Map<string, number>();
  for (let round = 0; round < ROUNDS; round += 1)
    for (const [who, { paths, ...asking }] of all.entries())
      for (const path of paths.filter((path) => !isExport(path))) {
        const started = performance.now();
        await statusOf(asking, path);
        const name = `${who} ${path}`;
        times.set(name, Math.min(times.get(name) ?? Infinity, performance.now() - started));
      }
  const slowest = [...times].sort(([, one], [, other]) => other - one);
  return slowest.map(([name, ms]) => `${ms.toFixed(1)} ${name}\n`).join('');
}

async function expectBounded(service: string, all: readonly Asking[]): Promise<void> {
  let failed: string[] = [];
  const isOurs = (name: string) => name.startsWith(service) || name === 'sealgate admin';
  const work = async () => {
    failed = await askAll(all);
  };
  const costs = await explained(postgres.url, work, isOurs);
  // The tables in infra/operations/statements.md are made so.
  const folder = process.env['SEALGATE_STATEMENTS'];
  if (folder !== undefined) {
    writeFileSync(`${folder}/${service}.md`, statementTable(costs));
    writeFileSync(`${folder}/${service}-answers.txt`, await answerTimes(all));
  }
  expect(costs.length).toBeGreaterThan(10);
  const looked = costs.filter(({ pool }) => pool !== `${service} background`);
  const tooMuch = looked.filter(({ rowsRead }) => rowsRead > MOST_ROWS);
  expect(tooMuch.map(({ text, rowsRead, wholeTables }) => ({ text, rowsRead, wholeTables }))).toEqual([]);
  expect(failed).toEqual([]);
}

const bearer = (token: string) => ({ Authorization: `Bearer ${token}` });

describe('every statement of those who look', () => {
  it(
    'is bounded on the gateway',
    async () => {
      const { setup, paths } = await filledGateway(postgres, COUNT);
      try {
        const { admin } = setup.gateway;
        await expectBounded('ingest-gateway', [{ client: admin, headers: bearer(setup.otherAdminToken), paths }]);
      } finally {
        await setup.stop();
      }
    },
    storyMs,
  );

  it(
    'is bounded on the gate',
    async () => {
      const { setup, paths } = await filledGate(postgres, COUNT);
      try {
        const { admin } = setup.gate;
        await expectBounded('case-gate', [{ client: admin, headers: bearer(setup.otherAdminToken), paths }]);
      } finally {
        await setup.stop();
      }
    },
    storyMs,
  );

  it(
    'is bounded on the risk partner',
    async () => {
      const { setup, paths, adminPaths, viewer, partner } = await filledRisk(postgres, COUNT);
      const [process] = setup.processes;
      try {
        const auditor = await setup.newPerson(['auditor']);
        const { public: client, admin } = process!;
        await expectBounded('risk-partner', [
          ...[viewer, partner, auditor.key].map((key) => ({ client, headers: bearer(key), paths })),
          { client: admin, headers: bearer(setup.otherAdminToken), paths: adminPaths },
        ]);
      } finally {
        await setup.stop();
      }
    },
    storyMs,
  );
});
