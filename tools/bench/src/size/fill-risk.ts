import { randomBytes } from 'node:crypto';
import { fillTable } from '@sealgate/local-services';
import { askAdmin } from '../surfaces/admin.ts';
import { FIRST_NUMBER, resourceCopies } from '../surfaces/resource-copies.ts';
import { postAs } from '../surfaces/risk-site.ts';
import type { Surface } from '../surfaces/surface-process.ts';
import { until } from '../until.ts';
import { isFilled, THROUGH_DOORS } from './amounts.ts';
import type { FillAt } from './sized-surface.ts';

/** The large organisation, which has half of everything. */
export interface FilledRisk {
  readonly orgId: string;
  /** Raw keys by role. */
  readonly keys: Readonly<Record<'owner' | 'admin' | 'auditor' | 'viewer' | 'partner', string>>;
  /** Of evidence whose approval is in the ledger. */
  readonly provedIds: readonly string[];
}

type Made = Readonly<Record<string, string>>;

const REQUIREMENTS = 50;
const RATINGS = [1, 2, 3, 4, 5];
const DEPARTMENTS = ['legal', 'finance', 'sales', 'support', 'operations'];
/** Approvals are written to the ledger one by one, so their rows cannot be copied. */
const MOST_APPROVED = 1_000;
const atOnce = 8;
const statementMs = 1_800_000;

/**
 * Organisations with risks and evidence: ten thousand of each through the doors, the changes of the last day, and before
 * them copies of such rows, with their facts. Copies are of evidence that was collected and not approved; they have no
 * audit events.
 */
export async function fillRisk(at: FillAt): Promise<FilledRisk> {
  const { surface, amounts } = at;
  const orgs: { orgId: string; owner: string }[] = [];
  for (let number = 0; number < amounts.organisations; number += 1) {
    const { id: orgId = '' } = await create(surface, '/orgs', { name: `Organisation ${number}` });
    orgs.push({ orgId, owner: await newKey(surface, orgId, ['owner']) });
  }
  const [large, ...others] = orgs as [(typeof orgs)[number], ...typeof orgs];
  const filled = await fillLarge(at, large);
  const models: Models[] = [await modelsOf(surface, large.owner, filled.controlIds)];
  for (const { owner } of others) models.push(await modelsOf(surface, owner, []));
  const made = { risks: doorsOf(amounts.risks), evidence: doorsOf(amounts.evidence) };
  const shares = { risks: amounts.risks / 2, evidence: amounts.evidence / 2 };
  for (const [kind, prefix] of [
    ['risks', 'rsk_'],
    ['evidence', 'evd_'],
  ] as const)
    await fillTable(
      at.site.url,
      'risk.resources',
      models.flatMap((model, org) => {
        const rows = org === 0 ? shares[kind] - made[kind] : shares[kind] / others.length;
        const count = Math.max(0, Math.floor((rows - model[kind].length) / model[kind].length));
        return model[kind].map((first, nth) =>
          resourceCopies({ first, prefix, count, place: `${nth * count + org * 10_000_000} + g` }),
        );
      }),
    );
  await addHistory(at);
  return filled;
}

/** In the large organisation. */
const doorsOf = (all: number): number => Math.min(THROUGH_DOORS, all / 4);

const create = async (surface: Surface, path: string, body: unknown): Promise<Made> =>
  JSON.parse(await askAdmin(surface, { method: 'POST', path, body }));

async function newKey(surface: Surface, orgId: string, roles: readonly string[], more = {}): Promise<string> {
  const kind = roles.includes('partner_read') ? 'machine' : 'human';
  const name = `The ${roles.join()}`;
  const { id } = await create(surface, `/orgs/${orgId}/people`, { name, kind, roles, ...more });
  const { rawKey = '' } = await create(surface, `/orgs/${orgId}/people/${id}/keys`, { label: 'bench' });
  return rawKey;
}

async function fillLarge(
  at: FillAt,
  { orgId, owner }: { readonly orgId: string; readonly owner: string },
): Promise<FilledRisk & { readonly controlIds: readonly string[] }> {
  const { surface, amounts } = at;
  const ids = Array.from({ length: REQUIREMENTS }, (_, number) => `A.${number}`);
  const { id: frameworkId } = await create(surface, `/orgs/${orgId}/frameworks`, {
    ...{ name: 'Framework', version: '1' },
    requirements: ids.map((id) => ({ id, title: `Requirement ${id}` })),
  });
  const scope = { departments: ['legal'], canReadSensitive: false, unrestricted: false };
  const keys = {
    owner,
    admin: await newKey(surface, orgId, ['admin']),
    auditor: await newKey(surface, orgId, ['auditor']),
    viewer: await newKey(surface, orgId, ['viewer'], { scope }),
    partner: await newKey(surface, orgId, ['partner_read']),
  };
  const controlIds: string[] = [];
  for (const requirementId of ids) {
    const control = { title: `Control of ${requirementId}`, frameworkRefs: [{ frameworkId, requirementId }] };
    controlIds.push((await postAs(surface, owner)('/controls', control)).id!);
  }
  const [risks, evidence] = [doorsOf(amounts.risks), doorsOf(amounts.evidence)];
  const approved = Math.min(MOST_APPROVED, evidence / 2);
  await sendAll(at, owner, { path: '/api/risks', body: newRisk('{key}', 0), requests: risks });
  await sendAll(at, owner, { path: '/api/evidence', body: newEvidence('{key}', []), requests: evidence - approved });
  const provedIds: string[] = [];
  for (let first = 0; first < approved; first += atOnce)
    provedIds.push(
      ...(await Promise.all(
        Array.from({ length: Math.min(atOnce, approved - first) }, (_, nth) =>
          approveEvidence(surface, keys, [controlIds[(first + nth) % REQUIREMENTS]!]),
        ),
      )),
    );
  await untilProved(at, approved);
  return { orgId, keys, provedIds, controlIds };
}

export const newRisk = (number: string, nth: number) => ({
  title: `Payment access ${number}`,
  category: nth % 2 === 0 ? 'operational' : 'legal',
  department: DEPARTMENTS[nth % DEPARTMENTS.length],
  inherent: { likelihood: RATINGS[nth % 5], impact: RATINGS[Math.floor(nth / 5) % 5] },
});

const newEvidence = (number: string, controlIds: readonly string[]) => ({
  title: `Access review ${number}`,
  ...{
    kind: 'document',
    department: DEPARTMENTS[controlIds.length],
    sha256: randomBytes(32).toString('hex'),
    controlIds,
  },
});

async function sendAll(
  { context, surface }: FillAt,
  key: string,
  { path, body, requests }: { readonly path: string; readonly body: object; readonly requests: number },
): Promise<void> {
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
  const { succeeded, refused } = await context.generator.run({
    destinations: [{ port: surface.port, path, headers }],
    body: JSON.stringify(body),
    sendsKey: false,
    expects: [201],
    keyPrefix: randomBytes(6).toString('hex'),
    watch: [],
    connections: 6,
    until: { requests },
  });
  if (!isFilled(succeeded, requests))
    throw new Error(`Of ${requests} requests ${succeeded} created something; ${JSON.stringify(refused)}.`);
}

async function approveEvidence(
  surface: Surface,
  keys: FilledRisk['keys'],
  controlIds: readonly string[],
): Promise<string> {
  const { id } = await postAs(surface, keys.owner)('/evidence', newEvidence('approved', controlIds));
  await postAs(surface, keys.owner)(`/evidence/${id}/transitions`, { to: 'in_review' });
  await postAs(surface, keys.admin)(`/evidence/${id}/transitions`, { to: 'approved' });
  return id!;
}

const provedWithinMs = 300_000;

async function untilProved({ site }: FillAt, approved: number): Promise<void> {
  const text = 'SELECT count(*)::int AS proofs FROM risk.proofs';
  await until(async () => (await site.sql.query<{ proofs: number }>({ text }))[0]!.proofs >= approved, {
    ...{ withinMs: provedWithinMs, againMs: 250 },
    late: `Not all ${approved} approvals were proved in time.`,
  });
}

interface Model {
  readonly id: string;
  readonly createdAt: string;
}

/** Rows to copy, of one organisation. */
interface Models {
  readonly risks: readonly Model[];
  readonly evidence: readonly Model[];
}

/** A risk of each rating, and evidence of some controls. */
async function modelsOf(surface: Surface, owner: string, controlIds: readonly string[]): Promise<Models> {
  const post = postAs(surface, owner);
  const made = ({ id = '', createdAt = '' }: Made): Model => ({ id, createdAt });
  const risks: Model[] = [];
  const evidence: Model[] = [];
  for (let nth = 0; nth < RATINGS.length ** 2; nth += 1)
    risks.push(made(await post('/risks', newRisk(FIRST_NUMBER, nth))));
  for (let nth = 0; nth < DEPARTMENTS.length; nth += 1)
    evidence.push(made(await post('/evidence', newEvidence(FIRST_NUMBER, controlIds.slice(0, nth)))));
  return { risks, evidence };
}

/**
 * Copies came before anything that is still kept of the history: as the retention leaves it, the oldest revision has the
 * sums of their changes, and their facts begin there.
 */
async function addHistory({ site }: FillAt): Promise<void> {
  const run = (text: string) => site.sql.query({ text }, { deadlineMs: statementMs });
  // The ids of copies are the only ones that begin with so many zeros.
  const copies = `risk.resources r JOIN (SELECT org_id, min(revision) AS oldest FROM risk.revisions GROUP BY 1) v USING (org_id)
    WHERE r.id LIKE '____000000000000000%'`;
  await run(`INSERT INTO risk.changes (org_id, revision, kind, owner_id, department, sensitive, delta)
    SELECT r.org_id, v.oldest, r.kind, r.owner_id, r.department, r.sensitive, count(*) FROM ${copies} GROUP BY 1, 2, 3, 4, 5, 6`);
  await run(`INSERT INTO risk.evidence_facts (org_id, evidence_id, owner_id, department, sensitive, approved, valid_until,
                                              fresh_at, control_ids, from_revision)
    SELECT r.org_id, r.id, r.owner_id, r.department, r.sensitive, false, r.valid_until, r.created_at,
           ARRAY(SELECT json_array_elements_text(r.doc::json -> 'controlIds')), v.oldest
      FROM ${copies} AND r.kind = 'evidence'`);
}
