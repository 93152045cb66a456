import { writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { throwawayPostgres, type OwnPostgres } from '@sealgate/testing';
import { setupTimeoutMs } from './harness/contract-setup.ts';
import { filledGate, filledGateway, filledRisk } from './harness/filled-surfaces.ts';
import type { HttpClient } from './harness/http-client.ts';
import { isFull } from './harness/scale.ts';
import { explained, explainingSettings, statementTable, type StatementCost } from './harness/statement-list.ts';

// Every route that looks is asked for, with every filter, at many rows a table; the server tells the plan of each
// statement. None may read a large table as a whole, or more rows than a count of 10,001 takes.

const COUNT = isFull ? 1_000_000 : 200_000;
/** A count of 10,001 and its page, of rows that may be looked at twice. */
const MOST_ROWS = 30_000;
const storyMs = 1_500_000;
const LARGE = /^(resources|audit_events|writes|events|refused_deliveries|cases|gate_decisions|eligibility|records)/;

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
  for (const { client, headers, paths } of all)
    for (const path of paths) {
      const { status } = await client.send({ path, headers, timeoutMs: 20_000 });
      if (status >= 500 || status === 429) failed.push(`${status} ${path}`);
    }
  return failed;
}

const tooMuch = ({ rowsRead, wholeTables }: StatementCost): boolean =>
  rowsRead > MOST_ROWS || wholeTables.some((table) => LARGE.test(table));

async function expectBounded(service: string, all: readonly Asking[]): Promise<void> {
  let failed: string[] = [];
  const isOurs = (name: string) => name.startsWith(service) || name === 'sealgate admin';
  const work = async () => {
    failed = await askAll(all);
  };
  const costs = await explained(postgres.url, work, isOurs);
  // The tables in infra/operations/statements.md are made so.
  const folder = process.env['SEALGATE_STATEMENTS'];
  if (folder !== undefined) writeFileSync(`${folder}/${service}.md`, statementTable(costs));
  expect(costs.length).toBeGreaterThan(10);
  const looked = costs.filter(({ pool }) => pool !== `${service} background`);
  expect(looked.filter(tooMuch).map(({ text, rowsRead, wholeTables }) => ({ text, rowsRead, wholeTables }))).toEqual(
    [],
  );
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
