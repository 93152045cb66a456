import { setTimeout as delay } from 'node:timers/promises';
import type { Environment } from '../world.ts';
import type { Random } from '../random.ts';
import type { Site } from '../site.ts';
import type { Asking, Client } from './client.ts';
import { Recent, type Step } from './load.ts';

interface Subject {
  readonly subject: string;
  readonly environment: Environment;
  caseId?: string;
}

const REVOKED = 0.5;
const DECLINED = 0.15;
const UNDER_CHECKS_MS = 400;

/** Applicants, whose cases are sealed and half of whom are revoked, and doors that ask about them all the time. */
export function gateSteps(
  site: Site,
  client: Client,
  environments: readonly Environment[],
): Readonly<Record<'apply' | 'check', Step>> {
  /** Doors ask about those who are being decided, and about those who were revoked long ago. */
  const newest = new Recent<Subject>(12);
  const revoked = new Recent<Subject>(2_000);
  const apply: Step = async (random) => {
    const environment = random.pick(environments);
    const one: Subject = { subject: `subj_${random.text(24)}`, environment };
    newest.add(one);
    if (!(await isSealed(client, one, random))) return;
    if (!random.chance(REVOKED)) return;
    await delay(random.below(UNDER_CHECKS_MS));
    const told = await client.insist(revoking(site, one), random);
    if (told?.status === 200) revoked.add(one);
  };
  const check: Step = async (random) => {
    const one = random.chance(0.2) ? (revoked.pick(random) ?? newest.pick(random)) : newest.pick(random);
    if (one === undefined) return;
    const isForeign = random.chance(0.02);
    const by = isForeign ? environments.find(({ name }) => name !== one.environment.name)! : one.environment;
    if (isForeign && one.caseId !== undefined) return void (await client.ask(reading(one, by), random.below(2)));
    await client.ask(checking(one, by), random.below(2));
  };
  return { apply, check };
}

/** Opens, decides and seals the case of a subject. Whether it was approved and sealed. */
async function isSealed(client: Client, one: Subject, random: Random): Promise<boolean> {
  const { subject, environment } = one;
  const opening = post(environment, '/v1/cases', { subject_ref: subject, venue_ids: ['*'] });
  const opened = await client.insist(
    { ...opening, ...keyed(opening, subject), act: 'open-case', sent: { subject } },
    random,
  );
  if (opened?.status !== 201) return false;
  one.caseId = String((opened.body as { case_id: unknown }).case_id);
  const path = `/v1/cases/${one.caseId}`;
  const decision = random.chance(DECLINED) ? 'decline' : 'approve';
  const deciding = post(environment, `${path}/decide`, { policy_version: 'p1', decision });
  const decided = await client.insist({ ...deciding, act: 'decide', sent: { subject, decision } }, random);
  if (decided === undefined || decided.status > 201) return false;
  const bare = post(environment, `${path}/seal`);
  const sealing = { ...bare, ...keyed(bare, `${one.caseId}:p1`), act: 'seal', sent: { subject, caseId: one.caseId } };
  // Twice at once, so that the two meet.
  const sealed = await Promise.all([client.insist(sealing, random.fork(subject)), client.insist(sealing, random)]);
  return decision === 'approve' && sealed.every((answer) => answer !== undefined && answer.status < 300);
}

function post(environment: Environment, path: string, body?: object): Asking {
  const headers = { Authorization: `Bearer ${environment.key}` };
  return {
    ...{ surface: 'case-gate', act: 'read', as: environment.name, path },
    headers: body === undefined ? headers : { ...headers, 'Content-Type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  };
}

const keyed = ({ headers }: Asking, key: string): Pick<Asking, 'key' | 'headers'> => ({
  key,
  headers: { ...headers, 'Idempotency-Key': key },
});

const checking = ({ subject }: Subject, by: Environment): Asking => ({
  ...post(by, '/v1/gate/check', { subject_ref: subject, venue_id: 'hall' }),
  act: 'check',
  sent: { subject },
});

const reading = ({ caseId, subject }: Subject, by: Environment): Asking => ({
  ...post(by, `/v1/cases/${caseId}`),
  method: 'GET',
  act: 'foreign',
  sent: { subject },
});

function revoking(site: Site, { subject, environment }: Subject): Asking {
  return {
    ...{ surface: 'case-gate', act: 'revoke', as: environment.name, isAdmin: true },
    path: `/admin/v1/subjects/${subject}/revoke?environment=${environment.name}`,
    headers: {
      Authorization: `Bearer ${site.replicasOf('case-gate')[0]!.adminToken}`,
      'Content-Type': 'application/json',
    },
    body: JSON.stringify({ reason: 'Chaos' }),
    sent: { subject },
  };
}
