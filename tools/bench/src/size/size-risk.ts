import { join } from 'node:path';
import { lookingPaths } from '@sealgate/local-services';
import { installRisk } from '../surfaces/risk-site.ts';
import type { Surface } from '../surfaces/surface-process.ts';
import { workspaceRoot } from '../workspace-root.ts';
import { exportWorks } from './export-works.ts';
import { fillRisk, newRisk, type FilledRisk } from './fill-risk.ts';
import { look } from './look-load.ts';
import { retentionUs } from './retention-of-revisions.ts';
import type { Asking, FillAt, FilledSurface, SizedLoad, SizedSurface } from './sized-surface.ts';

export const sizedRisk: SizedSurface = {
  surface: 'risk-partner',
  prepare: (context, { name, stack }) => installRisk(context, { name, stack, redis: false }),
  fill: async (at) => filledRisk(at, await fillRisk(at)),
};

function filledRisk(at: FillAt, risk: FilledRisk): FilledSurface {
  const { amounts } = at;
  const rows = amounts.risks + amounts.evidence;
  return {
    weights: [
      { what: 'risk or piece of evidence', rows, tables: ['risk.resources'] },
      { what: 'their history', rows, tables: ['risk.changes', 'risk.revisions', 'risk.evidence_facts'] },
      {
        what: 'approval',
        rows: risk.provedIds.length,
        tables: ['risk.anchors', 'risk.proofs', 'ledger.records', 'ledger.ids'],
      },
    ],
    faults: () => countFaults(at),
    loads: (surface) => loadsOf(at, risk, surface),
    works: (surface) => [
      ...exportWorks({
        ...{ what: 'risks', unit: 'us a risk', pid: surface.pid },
        url: `${originOf(surface)}/api/risks/export?format=csv`,
        headers: { authorization: `Bearer ${risk.keys.owner}` },
        least: amounts.risks / 4,
      }),
      {
        what: 'retention of revisions, which others wait for',
        ...{ unit: 'us a revision', target: 'sizeRatio' },
        run: () => retentionUs(at, risk, surface),
      },
    ],
    lists: (surface) => listsOf(risk, surface),
  };
}

const originOf = ({ port }: Surface): string => `http://127.0.0.1:${port}`;

/** The counts that summaries are made of are those of the rows. */
async function countFaults({ site }: FillAt): Promise<string[]> {
  const [row] = await site.sql.query<{ wrong: string }>(
    {
      text: `SELECT count(*) AS wrong
               FROM (SELECT org_id, kind, count(*) AS rows FROM risk.resources GROUP BY 1, 2) r
               FULL JOIN (SELECT org_id, kind, sum(rows) AS rows FROM risk.row_counts
                           WHERE cell = 'all' AND owner_id = '' AND kind <> 'proof' GROUP BY 1, 2) c USING (org_id, kind)
              WHERE r.rows IS DISTINCT FROM c.rows`,
    },
    { deadlineMs: 600_000 },
  );
  return row?.wrong === '0' ? [] : [`${row?.wrong} lists are not as long as their counts say.`];
}

async function loadsOf(at: FillAt, { keys, provedIds }: FilledRisk, surface: Surface): Promise<SizedLoad[]> {
  const origin = originOf(surface);
  const owner = { origin, token: keys.owner };
  const partner = { origin, token: keys.partner };
  const cursors = await cursorsOf(surface, keys.partner, at.context.signal);
  const page = (what: string, cursor: string | undefined): SizedLoad =>
    look(partner, `page of 100 risks for a partner, ${what}`, {
      paths: [`${FIRST_PAGE}${cursor === undefined ? '' : `&cursor=${cursor}`}`],
    });
  const summary = (what: string, path: string): SizedLoad => look(owner, what, { paths: [path], target: 'sizeAnswer' });
  return [
    {
      what: 'write of a risk',
      ...{ unit: 'us of CPU', target: 'sizeRatio', requests: 300 },
      load: {
        destinations: [
          {
            ...{ port: surface.port, path: '/api/risks' },
            headers: { Authorization: `Bearer ${keys.owner}`, 'Content-Type': 'application/json' },
          },
        ],
        ...{ body: JSON.stringify(newRisk('{key}', 3)), sendsKey: false, expects: [201], connections: 6 },
      },
    },
    look(owner, 'proof of evidence', { paths: provedIds.map((id) => `/api/evidence/${id}/proof`) }),
    page('first', cursors[0]),
    page('middle', cursors[Math.floor(cursors.length / 2)]),
    page('last', cursors.at(-2)),
    look(owner, 'page of 100 risks by score', { paths: ['/api/risks?limit=100&sort=-currentScore'] }),
    look(owner, 'page of 100 risks by title', { paths: ['/api/risks?limit=100&sort=title'] }),
    summary('heat map', '/api/heat-map'),
    summary('coverage', '/api/v1/coverage?limit=100'),
    summary('trends', '/api/trends?months=12'),
    summary('evidence board', '/api/evidence-board'),
    summary('search for a risk', '/api/risks?limit=100&q=0000123'),
    summary('search for a word of every risk', '/api/risks?limit=100&q=payment'),
  ];
}

const FIRST_PAGE = '/api/v1/risks?limit=100';

/** Of every page of the large organisation; undefined: the first. */
async function cursorsOf(surface: Surface, key: string, signal: AbortSignal): Promise<(string | undefined)[]> {
  const cursors: (string | undefined)[] = [];
  for (let cursor: string | null | undefined; cursor !== null;) {
    const path = cursor === undefined ? FIRST_PAGE : `${FIRST_PAGE}&cursor=${cursor}`;
    const response = await fetch(`${originOf(surface)}${path}`, {
      headers: { authorization: `Bearer ${key}` },
      signal,
    });
    const text = await response.text();
    if (response.status !== 200) throw new Error(`GET ${path} answered ${response.status}: ${text.slice(0, 400)}`);
    cursors.push(cursor);
    ({ nextCursor: cursor } = (JSON.parse(text) as { pagination: { nextCursor: string | null } }).pagination);
  }
  return cursors;
}

const SINCE = '2026-01-01T00:00:00Z';

/** What pages of the console ask for with several parameters. */
const OF_CONSOLE = [
  ...['nextReviewAt', '-updatedAt'].map((sort) => `/api/risks?limit=6&sort=${sort}`),
  '/api/risks?limit=6&status=accepted&sort=acceptanceExpiresAt',
  `/api/risks?limit=6&worseSince=${SINCE}&sort=-currentScore`,
  ...['requested', 'rejected', 'expiring'].map((state) => `/api/evidence?limit=6&state=${state}&sort=validUntil`),
  '/api/evidence-board?cards=6',
  `/api/audit?limit=10&from=${SINCE}`,
  '/api/risks?limit=50&sort=-currentScore&level=critical',
  '/api/evidence?limit=50&sort=-updatedAt&state=approved',
  ...['risks', 'evidence', 'controls'].map((kind) => `/api/${kind}?limit=5&q=review`),
];

function listsOf({ orgId, keys, provedIds }: FilledRisk, surface: Surface): Asking[] {
  const known = { orgId, id: provedIds[0]!, q: 'payment', department: 'legal' };
  const paths = (file: string) => lookingPaths(join(workspaceRoot, 'apps/risk-partner', file), known);
  const headers = (key: string) => ({ authorization: `Bearer ${key}` });
  return [
    ...(['owner', 'auditor', 'viewer', 'partner'] as const).map((who) => ({
      ...{ who, origin: originOf(surface), headers: headers(keys[who]) },
      paths: [...paths('openapi.json'), ...OF_CONSOLE],
    })),
    {
      ...{ who: 'operator', origin: surface.adminUrl, headers: headers(surface.adminToken) },
      paths: paths('admin-openapi.json'),
    },
  ];
}
