import { join } from 'node:path';
import { lookingPaths } from '@sealgate/local-services';
import type { RowLoad } from '../rows/row.ts';
import { checkLoad, prepareGateSite, type SealedSubject } from '../surfaces/gate-site.ts';
import type { Surface } from '../surfaces/surface-process.ts';
import { workspaceRoot } from '../workspace-root.ts';
import { THROUGH_DOORS } from './amounts.ts';
import { checkDecisions } from './check-decisions.ts';
import { exportWorks } from './export-works.ts';
import { fillGate, newCases, type FilledGate } from './fill-gate.ts';
import { look } from './look-load.ts';
import { removalMs } from './removal-ms.ts';
import type { Asking, FillAt, FilledSurface, SizedLoad, SizedSurface } from './sized-surface.ts';

export const sizedGate: SizedSurface = {
  surface: 'case-gate',
  prepare: (context, { name, stack }) => prepareGateSite(context, { name, stack, redis: false }),
  fill: async (at) => filledGate(at, await fillGate(at)),
};

/** So many subjects are in the cache of a process at every size. */
const CACHED = 200;

function filledGate(at: FillAt, gate: FilledGate): FilledSurface {
  const { amounts, site, context } = at;
  const { sealed, records } = gate;
  return {
    weights: [
      { what: 'case', rows: amounts.cases, tables: ['gate.cases', 'gate.timeline', 'gate.texts', 'gate.claims'] },
      { what: 'decision', rows: amounts.decisions, tables: ['gate.gate_decisions', 'gate.decision_counts'] },
      { what: 'subject', rows: amounts.cases, tables: ['gate.eligibility', 'gate.eligibility_history'] },
      { what: 'decided and sealed case, besides', rows: sealed.length, tables: ['gate.decisions', 'gate.seals'] },
      { what: 'record of the ledger', rows: records, tables: ['ledger.records', 'ledger.ids', 'ledger.claims'] },
      { what: 'venue', rows: amounts.venues, tables: ['gate.venues'] },
    ],
    faults: (surface) => checkDecisions(surface, { site, folder: context.folder }),
    loads: (surface) => loadsOf(at, gate, surface),
    works: (surface) => [
      ...exportWorks({
        ...{ what: 'decisions', unit: 'us a decision', pid: surface.pid },
        url: `${surface.adminUrl}/admin/v1/decisions/export?format=csv`,
        headers: { authorization: `Bearer ${surface.adminToken}` },
        least: Math.min(amounts.decisions, THROUGH_DOORS),
      }),
      {
        what: 'retention of decisions, steps with their pauses',
        ...{ unit: 'ms', target: 'sizeRatio' },
        run: () => retentionMs(at),
      },
    ],
    lists: (surface) => listsOf(gate, surface),
  };
}

const KEPT_DAYS = 100;
const OLD_DECISIONS = 2_500;

/** Of the oldest decisions, made older than they are: their log has been audited before. */
async function retentionMs(at: FillAt): Promise<number> {
  await at.site.sql.query(
    {
      text: `UPDATE gate.gate_decisions SET evaluated_at = evaluated_at - make_interval(days => $1)
              WHERE decision_id IN (SELECT decision_id FROM gate.gate_decisions ORDER BY evaluated_at, decision_id LIMIT $2)`,
      values: [KEPT_DAYS + 1, OLD_DECISIONS],
    },
    { deadlineMs: 600_000 },
  );
  return removalMs(at, {
    env: { DECISION_RETENTION_DAYS: String(KEPT_DAYS) },
    text: `SELECT count(*)::int AS left FROM gate.gate_decisions
            WHERE evaluated_at AT TIME ZONE 'UTC' < (now() - make_interval(days => $1)) AT TIME ZONE 'UTC'`,
    ...{ values: [KEPT_DAYS], old: OLD_DECISIONS },
  });
}

async function loadsOf(at: FillAt, gate: FilledGate, surface: Surface): Promise<SizedLoad[]> {
  const { rawKey, sealed } = gate;
  const writes = { unit: 'us of CPU', target: 'sizeRatio' } as const;
  const operator = { origin: surface.adminUrl, token: surface.adminToken };
  const page = (what: string, path: string) => look(operator, `page of 100 ${what}`, { paths: [`/admin/v1/${path}`] });
  const cases = await timesOf(at, 'gate.cases', 'created_at');
  const decisions = await timesOf(at, 'gate.gate_decisions', 'evaluated_at');
  const some = sealed.slice(0, CACHED);
  return [
    {
      what: 'check of a subject',
      ...{ ...writes, requests: 4_000 },
      load: checkLoad(surface, { rawKey, sealed: some }),
    },
    {
      what: 'check of an unknown subject',
      ...{ ...writes, requests: 2_000 },
      load: unknownChecks(surface, rawKey),
    },
    { what: 'write of a case', ...{ ...writes, requests: 500 }, load: newCases(surface, rawKey) },
    look({ origin: `http://127.0.0.1:${surface.port}`, token: rawKey }, 'pack of a sealed case, with its proof', {
      paths: some.map(({ caseId }) => `/v1/cases/${caseId}/assessor-pack`),
    }),
    page('cases, first', 'cases?limit=100'),
    page('cases, middle', `cases?limit=100&created_to=${cases.middle}`),
    page('cases, last', `cases?limit=100&created_to=${cases.last}`),
    page('decisions, first', 'decisions?limit=100'),
    page('decisions, middle', `decisions?limit=100&to=${decisions.middle}`),
    page('decisions, last', `decisions?limit=100&to=${decisions.last}`),
    look(operator, 'search for a case', {
      target: 'sizeAnswer',
      paths: some.map(({ subjectRef }) => `/admin/v1/cases?q=${subjectRef.slice(5, 17)}`),
    }),
  ];
}

/** Times before which half of the rows are, and those of two pages. */
async function timesOf({ site }: FillAt, table: string, column: string): Promise<{ middle: string; last: string }> {
  const [row] = await site.sql.query<{ middle: Date; last: Date }>({
    text: `SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY ${column}) AS middle,
                  (SELECT max(c.at) FROM (SELECT ${column} AS at FROM ${table} ORDER BY ${column} LIMIT 200) c) AS last
             FROM ${table}`,
  });
  return { middle: row!.middle.toISOString(), last: row!.last.toISOString() };
}

/** Of subjects that nobody knows: each is looked up, since none is in a cache. */
function unknownChecks({ port }: Surface, rawKey: string): RowLoad {
  const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${rawKey}` };
  return {
    destinations: [{ port, path: '/v1/gate/check', headers }],
    body: JSON.stringify({ subject_ref: 'subj_{key}', venue_id: 'venue-0' }),
    sendsKey: false,
    mustSay: '"decision":"deny"',
  };
}

function listsOf({ rawKey, sealed }: FilledGate, surface: Surface): Asking[] {
  const [{ subjectRef, caseId, venueId }] = sealed as [SealedSubject];
  const known = {
    ...{ subject_ref: subjectRef, case_id: caseId, venue_id: venueId, policy_version: 'bench-1' },
    ...{ environment: 'live', q: 'hall' },
  };
  const paths = (file: string) => lookingPaths(join(workspaceRoot, 'apps/case-gate', file), known);
  const open = '/admin/v1/cases?environment=live';
  // What pages of the console ask for with several parameters.
  const ofConsole = [
    ...['received', 'in_review', 'decided'].map((status) => `${open}&status=${status}&sort=created_at&limit=10`),
    `${open}&sort=-updated_at&limit=50`,
    `${open}&q=${subjectRef.slice(5, 17)}&limit=5`,
    '/admin/v1/policies?environment=live&sort=-updated_at&limit=20',
    `/admin/v1/decisions?environment=live&venue_id=${venueId}&decision=deny&limit=50`,
  ];
  const headers = (token: string) => ({ authorization: `Bearer ${token}` });
  return [
    {
      ...{ who: 'operator', origin: surface.adminUrl, headers: headers(surface.adminToken) },
      paths: [...paths('admin-openapi.json'), ...ofConsole],
    },
    {
      ...{ who: 'key', origin: `http://127.0.0.1:${surface.port}`, headers: headers(rawKey) },
      paths: paths('openapi.json'),
    },
  ];
}
