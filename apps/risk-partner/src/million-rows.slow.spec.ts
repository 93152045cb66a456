import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sortingOf } from '@sealgate/paging';
import type { Sql, Statement } from '@sealgate/storage';
import { planNodes, rowsReadBy, wholeTablesOf, type PlanNode } from '@sealgate/testing';
import { auditEvents } from './data/audit-reads.ts';
import { dashboardSummaries } from './data/dashboard-reads.ts';
import { countedPage, uncountedPage } from './data/find-rows.ts';
import { partnerCoverage } from './data/partner-coverage.ts';
import type { Wanted } from './data/wanted-rows.ts';
import type { RowScope } from './domain/caller.ts';
import { rowsOf } from './testing/demo-rows.ts';
import { fillOrganisation, withoutIndexes } from './testing/million-rows.ts';
import { testInstallation, type TestInstallation, type TestPerson } from './testing/test-installation.ts';

/** More rows change nothing but the time that it takes to make them: what is asserted does not depend on them. */
const ROWS = Number(process.env['SEALGATE_ROWS'] ?? 150_000);
/** What a list may read: a walk that is given up, and what is found then. */
const MAX_ROWS_READ = 125_000;
/** What an aggregate may read. */
const MAX_COUNTS_READ = 20_000;
/** An export that kept 150 bytes of each row would exceed it. */
const MAX_GROWTH_BYTES = 20 * 2 ** 20;
const NOW_MS = Date.UTC(2026, 5, 1);

let service: TestInstallation;
let orgId: string;
let smallOrgId: string;
let owner: TestPerson;
let revision: number;

beforeAll(async () => {
  service = await testInstallation();
  const sql: Sql = { query: (statement) => service.sql.query(statement, { deadlineMs: 600_000 }) };
  const makeIndexes = await withoutIndexes(sql);
  const people: TestPerson[] = [];
  for (let index = 0; index <= 20; index += 1) {
    const id = await service.newOrg(`Organisation ${index}`);
    const person = await service.newPerson(id, ['owner']);
    people.push(person);
    const rows = index === 0 ? ROWS : 200;
    const controlIds: string[] = [];
    if (index === 0) {
      [orgId, owner] = [id, person];
      const frameworkId = await service.newFramework(
        id,
        Array.from({ length: 50 }, (_none, at) => `A.${at}`),
      );
      for (let at = 0; at < 50; at += 1) {
        const refs = [{ frameworkId, requirementId: `A.${at}` }];
        controlIds.push((await rowsOf(service, person).control({ frameworkRefs: refs })).id);
      }
      controlIds.push(...Array.from({ length: 2000 }, (_none, at) => `ctl_${at}`));
    } else smallOrgId = id;
    const ownerIds = [person.id, ...Array.from({ length: 20 }, (_none, at) => `per_${at}`)];
    await fillOrganisation(sql, { orgId: id, ownerIds, risks: rows, evidence: rows, events: rows, controlIds });
  }
  await makeIndexes();
  const [newest] = await sql.query<{ revision: string }>({
    text: 'SELECT max(revision) AS revision FROM risk.revisions WHERE org_id = $1',
    values: [orgId],
  });
  revision = Number(newest?.revision);
}, 600_000);
afterAll(() => service.stop());

/** Runs statements twice: once to explain them. */
function explaining() {
  const read = { rows: 0, scans: [] as string[] };
  const note = (plan: PlanNode): void => {
    const scans = planNodes(plan).filter((node) => node['Relation Name'] !== undefined);
    // What an index alone tells costs a fraction of a row.
    for (const scan of scans) if (scan['Node Type'] !== 'Index Only Scan') read.rows += rowsReadBy(scan);
    read.scans.push(...wholeTablesOf(scans).filter((table) => LARGE.includes(table)));
  };
  const sql: Sql = {
    async query<Row extends object>({ text, values = [] }: Statement): Promise<Row[]> {
      const explained = { text: `EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, values };
      const [row] = await service.sql.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(explained, { deadlineMs: 60_000 });
      note(row!['QUERY PLAN'][0].Plan);
      return service.sql.query<Row>({ text, values }, { deadlineMs: 60_000 });
    },
  };
  return { sql, read };
}

const LARGE = ['resources', 'audit_events', 'evidence_facts', 'row_counts', 'evidence_changes', 'score_changes'];

const scopes = (): Readonly<Record<string, RowScope>> => {
  const of = (more: Partial<RowScope>): RowScope => ({
    orgId,
    ownerId: owner.id,
    unrestricted: false,
    canReadSensitive: false,
    departments: [],
    ...more,
  });
  return {
    owner: of({ unrestricted: true, canReadSensitive: true }),
    auditor: of({ unrestricted: true }),
    'viewer of a department': of({ departments: ['department 3'] }),
    'viewer of own rows': of({}),
    partner: of({ unrestricted: true, ownerId: null }),
    'owner of a small organisation': of({ orgId: smallOrgId, unrestricted: true, canReadSensitive: true }),
  };
};

const LISTS: readonly (Partial<Wanted> & { readonly sort?: string })[] = [
  {},
  { sort: '-title' },
  { sort: 'refId' },
  { sort: '-refId' },
  { sort: '-currentScore' },
  { sort: '-nextReviewAt' },
  { filters: { status: 'accepted' }, sort: 'acceptanceExpiresAt' },
  { q: 'outage' },
  { q: 'a', sort: '-updatedAt' },
  { q: 'nothing' },
  { q: 'plant 4711' },
  { q: 'rsk_' },
  { filters: { status: 'identified' } },
  { filters: { status: 'archived' } },
  { filters: { level: 'critical' }, sort: 'currentScore' },
  { filters: { status: 'closed' }, sort: '-currentScore' },
  { q: 'supplier', sort: 'title' },
  { filters: { level: 'low', category: 'category 3' }, q: 'fraud' },
  { filters: { updatedSince: '2026-01-01T01:00:00Z' } },
  { filters: { updatedSince: '2030-01-01T00:00:00Z' }, q: 'outage' },
  { filters: { worseSince: '2026-02-01T00:00:00Z' } },
  { filters: { worseSince: '2026-02-01T00:00:00Z' }, sort: '-currentScore' },
  { filters: { worseSince: '2026-04-01T04:00:00Z', level: 'high' }, sort: 'title' },
  { filters: { worseSince: '2026-02-01T00:00:00Z' }, q: 'nothing' },
  { filters: { worseSince: '2030-01-01T00:00:00Z' } },
  { kind: 'evidence', filters: { state: 'approved' }, sort: 'validUntil' },
  { kind: 'evidence', filters: { state: 'collected' }, sort: '-validUntil' },
  { kind: 'evidence', filters: { state: 'expired' } },
  { kind: 'evidence', filters: { state: 'expiring' } },
];

describe('in an organisation of very many rows', () => {
  it.each(LISTS.map((list): [string, (typeof LISTS)[number]] => [JSON.stringify(list), list]))(
    'the list %s reads a bounded number of rows by an index, for every caller',
    async (_name, { sort = 'createdAt', ...asked }) => {
      for (const [name, scope] of Object.entries(scopes())) {
        const wanted: Wanted = { kind: 'risk', filters: {}, q: undefined, nowMs: NOW_MS, scope, ...asked };
        const page = { sorting: sortingOf(sort as 'title' | '-title'), after: undefined, limit: 51 };
        for (const find of [countedPage, uncountedPage]) {
          const { sql, read } = explaining();
          await find(sql, wanted, page);
          expect({ name, scans: read.scans, isBounded: read.rows <= MAX_ROWS_READ, rows: read.rows }).toEqual({
            name,
            scans: [],
            isBounded: true,
            rows: read.rows,
          });
        }
      }
    },
    120_000,
  );

  it('aggregates read counts', async () => {
    for (const [name, scope] of Object.entries(scopes())) {
      const { sql, read } = explaining();
      await dashboardSummaries(sql).heatMap(scope);
      await dashboardSummaries(sql).evidenceStates(scope, NOW_MS);
      expect({ name, scans: read.scans, isBounded: read.rows <= MAX_COUNTS_READ }).toEqual({
        name,
        scans: [],
        isBounded: true,
      });
    }
  });

  it('the trend of coverage reads counts', async () => {
    const begins = Array.from({ length: 12 }, (_none, at) => new Date(Date.UTC(2026, at, 1)));
    const months = { begins, now: new Date(Date.UTC(2026, 11, 15)), next: new Date(Date.UTC(2027, 0, 1)) };
    for (const [name, scope] of Object.entries(scopes())) {
      const { sql, read } = explaining();
      await dashboardSummaries(sql).coverageTrend(scope, months);
      expect({ name, scans: read.scans, isBounded: read.rows <= MAX_COUNTS_READ }).toEqual({
        name,
        scans: [],
        isBounded: true,
      });
    }
  });

  it('coverage reads the evidence of its page', async () => {
    const scope = scopes()['owner']!;
    const { sql, read } = explaining();
    const source = partnerCoverage({ sql, look: sql, onMasked: () => undefined } as never);
    const page = { filters: {}, revision, limit: 20, after: undefined, nowMs: NOW_MS };
    expect(await source.list(scope, page)).toHaveLength(20);
    expect([read.scans, read.rows <= MAX_COUNTS_READ]).toEqual([[], true]);
  });

  it('the audit is counted and listed by indexes', async () => {
    const audit = { read: (row: object) => row } as never;
    for (const filters of [
      {},
      { action: 'risk.create' },
      { action: 'none' },
      { actorId: owner.id },
      { resourceId: 'x' },
    ])
      for (const scope of [scopes()['owner']!, scopes()['auditor']!]) {
        const { sql, read } = explaining();
        await auditEvents(sql, audit).count(scope, filters);
        expect([filters, read.scans, read.rows <= MAX_ROWS_READ]).toEqual([filters, [], true]);
      }
  });

  it('an export takes no more memory the more rows it has sent', async () => {
    // The first one brings the heap to its size.
    await residentBytesWhile('/api/risks/export?format=csv');
    const { rows, early, late } = await residentBytesWhile('/api/risks/export?format=csv');
    expect(rows).toBe(ROWS);
    process.stdout.write(`export of ${rows} rows: ${late - early} bytes more in its second half\n`);
    expect(late - early).toBeLessThanOrEqual(MAX_GROWTH_BYTES);
  }, 300_000);
});

const COLLECTED_EVERY_ROWS = 5_000;

/** Reads an export as fast as it comes, and tells the most memory that the process took in each half of it. */
async function residentBytesWhile(path: string): Promise<{ rows: number; early: number; late: number }> {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  const answer = await fetch(`${service.url}${path}`, { headers: { Authorization: `Bearer ${owner.key}` } });
  expect(answer.status).toBe(200);
  let lines = 0;
  let collectedAt = 0;
  const most = { early: 0, late: 0 };
  for await (const chunk of answer.body!) {
    lines += Buffer.from(chunk).toString('latin1').split('\n').length - 1;
    if (lines < collectedAt + COLLECTED_EVERY_ROWS) continue;
    // What the collector has not come to yet is no growth.
    collectGarbage();
    collectedAt = lines;
    const half = lines < ROWS / 2 ? 'early' : 'late';
    most[half] = Math.max(most[half], process.memoryUsage.rss());
  }
  return { rows: lines - 1, ...most };
}
