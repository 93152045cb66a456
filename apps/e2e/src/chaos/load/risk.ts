import { hash } from 'node:crypto';
import type { Organisation, Person } from '../world.ts';
import type { Asking, Client } from './client.ts';
import type { Step } from './load.ts';

const COLLECTIONS = ['risks', 'evidence', 'proofs', 'assets', 'controls'] as const;

/** People who collect and approve evidence, and partners who read pages. */
export function riskSteps(
  client: Client,
  organisations: readonly Organisation[],
): Readonly<Record<'evidence' | 'page', Step>> {
  const evidence: Step = async (random) => {
    const { orgId, owner, reviewer } = random.pick(organisations);
    const [by, approver] = [caller(orgId, owner), caller(orgId, reviewer)];
    const sensitive = random.chance(0.2);
    const sha256 = hash('sha256', random.text(24), 'hex');
    const body = { title: `Report ${random.text(8)}`, kind: 'document', sha256, sensitive };
    // The key is ignored here, so a request whose answer was lost is not repeated: it may have been made.
    const made = await client.ask(post(by, '/api/evidence', body), random.below(2));
    if (made?.status !== 201) return;
    const evidenceId = String((made.body as { id: unknown }).id);
    const path = `/api/evidence/${evidenceId}/transitions`;
    await client.insist({ ...post(by, path, { to: 'in_review' }), act: 'review' }, random);
    const approving = { ...post(approver, path, { to: 'approved' }), act: 'approve', sent: { evidenceId } };
    await client.insist(approving, random);
    if (!random.chance(0.3)) return;
    const inherent = { likelihood: 2, impact: 3 };
    const risk = { title: `Risk ${random.text(8)}`, category: 'ops', inherent, sensitive };
    await client.ask(post(by, '/api/risks', risk), random.below(2));
  };
  const page: Step = async (random) => {
    const { orgId, partner } = random.pick(organisations);
    const path = `/api/v1/${random.pick(COLLECTIONS)}?limit=${random.between(1, 20)}`;
    await client.ask({ ...get(caller(orgId, partner), path) }, random.below(2));
  };
  return { evidence, page };
}

interface Caller {
  readonly as: string;
  readonly key: string;
}

const caller = (orgId: string, { id, key }: Person): Caller => ({ as: `${orgId}/${id}`, key });

const get = ({ as, key }: Caller, path: string): Asking => ({
  ...{ surface: 'risk-partner', act: 'read', as, method: 'GET', path },
  headers: { Authorization: `Bearer ${key}` },
});

const post = ({ as, key }: Caller, path: string, body: object): Asking => ({
  ...{ surface: 'risk-partner', act: 'create', as, path },
  headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
  body: JSON.stringify(body),
});
