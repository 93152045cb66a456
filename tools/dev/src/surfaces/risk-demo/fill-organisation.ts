import { hash } from 'node:crypto';
import { type AdminClient, textOf } from '../../start/admin-client.ts';
import { UserError } from '../../start/user-error.ts';
import { expectMade, inParallel, pick, type Posted, postPatiently, spread } from '../post-patiently.ts';
import { ageRisks, type RatingChange } from './age-risks.ts';
import { demoEvidence, type DemoControl } from './evidence-titles.ts';
import { assetKinds, type DemoPerson, departments, frameworks, places, policies, threats } from './people.ts';
import { historyOf, type Rating } from './rating-history.ts';

interface DemoOrganisation {
  /** The public listener, without a trailing slash. */
  readonly url: string;
  /** For the runtime role of the surface. */
  readonly databaseUrl: string;
  readonly admin: AdminClient;
  readonly orgId: string;
  readonly people: readonly DemoPerson[];
}

/** Those who keep the register. Meanwhile each has a second key, so that no rate limit is met. */
const WRITERS = ['owner', 'admin', 'risk_manager'];

/** Fills the organisation through the public API, by the people who would, and moves its risks into the past. */
export async function fillOrganisation({ url, databaseUrl, admin, orgId, people }: DemoOrganisation): Promise<void> {
  const owners = people.filter(({ role }) => role !== 'partner_read' && role !== 'auditor').map(({ id }) => id);
  const writers = people.filter(({ role }) => WRITERS.includes(role));
  const seconds: { readonly id: string; readonly key: string }[] = [];
  for (const { id } of writers) {
    const minted = await admin.post(`/orgs/${orgId}/people/${id}/keys`, { label: 'Import' });
    seconds.push({ id: textOf(minted, 'id'), key: textOf(minted, 'rawKey') });
  }
  const apis = [...writers, ...seconds].map(({ key }) => riskApi(url, key));
  const made = await makeControls({ admin, orgId, apis });
  const controls = made.map(({ id }) => id);
  const assets = await makeAssets(apis, { owners, controls });
  const evidence = await makeEvidence(apis, { owners, controls: made });
  const changes = await makeRisks(apis, { owners, controls, assets, evidence });
  await ageRisks({ databaseUrl, orgId, changes });
  // Risk managers create no policies.
  await inParallel(apis.slice(0, 2), policies, (api, [title, body], index) =>
    api.create('policies', { title, body, ...(index % 3 === 0 ? { status: 'draft' } : approved(index)) }),
  );
  for (const { id, key } of seconds) await riskApi(url, key).endKey(id);
}

const approved = (index: number) => ({
  status: 'approved',
  approvedAt: daysAgo(40 + 35 * index),
  effectiveAt: daysAgo(30 + 35 * index),
  nextReviewAt: daysAhead(20 + 35 * index),
});

async function makeControls({
  admin,
  orgId,
  apis,
}: Pick<DemoOrganisation, 'admin' | 'orgId'> & { readonly apis: readonly RiskApi[] }): Promise<DemoControl[]> {
  const wanted: { subject: string; title: string; frameworkId: string; requirementId: string; refId: string }[] = [];
  for (const { name, version, requirements, prefix } of frameworks) {
    const listed = requirements.map((title, index) => ({ id: `${prefix}.${index + 1}`, title }));
    const made = await admin.post(`/orgs/${orgId}/frameworks`, { name, version, requirements: listed });
    const frameworkId = textOf(made, 'id');
    // The last two requirements of each framework have no control, and every third has two.
    listed.slice(0, -2).forEach(({ id, title }, index) => {
      const ref = { frameworkId, requirementId: id };
      wanted.push({ subject: title, title: `${title}: in force and checked`, refId: `C-${id}`, ...ref });
      if (index % 3 === 0) {
        const second = { subject: `${title}, second review`, title: `${title}: second pair of eyes` };
        wanted.push({ ...second, refId: `C-${id}b`, ...ref });
      }
    });
  }
  return inParallel(apis, wanted, async (api, { subject, title, refId, ...ref }, index) => {
    const id = await api.create('controls', {
      title,
      refId,
      frameworkRefs: [ref],
      status: index % 11 === 5 ? 'not_applicable' : index % 4 === 0 ? 'planned' : 'implemented',
      ...(index % 3 === 0
        ? {}
        : { lastTestedAt: daysAgo(index * 3), testResult: index % 7 === 0 ? 'failed' : 'passed' }),
    });
    return { id, subject };
  });
}

interface Made {
  readonly owners: readonly string[];
  readonly controls: readonly string[];
}

function makeAssets(apis: readonly RiskApi[], { owners, controls }: Made): Promise<string[]> {
  const all = places
    .flatMap((place) => assetKinds.map((kind) => [place, ...kind] as const))
    .filter((_, index) => index % 2 === 0);
  return inParallel(apis, all, (api, [place, name, type, criticality], index) =>
    api.create('assets', {
      refId: `A-${String(index + 1).padStart(3, '0')}`,
      name: `${name}, ${place}`,
      type,
      criticality,
      environment: index % 5 === 0 ? 'test' : 'production',
      dataClassification: pick(['internal', 'confidential', 'public'], index),
      department: pick(departments, index),
      ownerId: pick(owners, index),
      sensitive: index % 10 === 9,
      controlIds: [pick(controls, index)],
    }),
  );
}

/** Two of three are decided, by another person than the collector; of the others every second one waits for a review. */
async function makeEvidence(
  apis: readonly RiskApi[],
  { owners, controls }: Pick<Made, 'owners'> & { readonly controls: readonly DemoControl[] },
): Promise<string[]> {
  const ids = await inParallel(apis, demoEvidence(controls), (api, { controlId, title, kind }, index) =>
    api.create('evidence', {
      title,
      kind,
      sha256: hash('sha256', `demo evidence ${index}`, 'hex'),
      sizeBytes: 1000 + spread(index, 900_000),
      mediaType: pick(['application/pdf', 'image/png', 'application/pdf', 'text/plain'], index),
      department: pick(departments, index),
      ownerId: pick(owners, index),
      sensitive: index % 12 === 11,
      controlIds: [controlId],
      effectiveAt: daysAgo(spread(index, 300)),
      observationPeriod: { from: daysAgo(91 + spread(index, 300)), to: daysAgo(1 + spread(index, 300)) },
      ...validUntil(index),
    }),
  );
  const reviewed = ids.filter((_, index) => index % 3 !== 2);
  const submitted = ids.filter((_, index) => index % 6 !== 2);
  await inParallel(apis, submitted, (api, id) => api.transition(id, { to: 'in_review' }));
  // Nobody reviews what they collected: then the next one does.
  await inParallel(apis, reviewed, (api, id, index) => {
    const rejected = index % 13 === 12;
    const verdict = rejected ? { to: 'rejected', reason: 'The period does not match.' } : { to: 'approved' };
    return reviewByAnother([api, ...apis], id, verdict);
  });
  return ids;
}

/** One in seven expires within the month, some have expired, one in four never expires. */
function validUntil(index: number): { validUntil?: string } {
  if (index % 4 === 0) return {};
  if (index % 7 === 3) return { validUntil: daysAhead(2 + spread(index, 26)) };
  if (index % 13 === 6) return { validUntil: daysAgo(1 + spread(index, 40)) };
  return { validUntil: daysAhead(40 + spread(index, 400)) };
}

async function reviewByAnother(apis: readonly RiskApi[], id: string, verdict: { to: string }): Promise<void> {
  for (const api of apis) if (await api.review(id, verdict)) return;
}

/** Makes the risks; tells when those that are rated anew are to have been. */
async function makeRisks(
  apis: readonly RiskApi[],
  {
    owners,
    controls,
    assets,
    evidence,
  }: Made & { readonly assets: readonly string[]; readonly evidence: readonly string[] },
): Promise<RatingChange[]> {
  const nowMs = Date.now();
  const all = places.flatMap((place) =>
    Object.entries(threats).flatMap(([category, titles]) => titles.map((title) => ({ place, category, title }))),
  );
  const changed = await inParallel(apis, all, async (api, { place, category, title }, index) => {
    const { madeAt, ratings = [] } = historyOf({ index, count: all.length }, nowMs);
    const most = (of: 'likelihood' | 'impact') => Math.max(0, ...ratings.map(({ rating }) => rating[of]));
    const inherent = {
      likelihood: most('likelihood') || 1 + spread(index, 5),
      impact: most('impact') || 1 + spread(index * 7 + 3, 5),
    };
    const [first, ...later] = ratings;
    const lower = { likelihood: Math.max(1, inherent.likelihood - 1), impact: Math.max(1, inherent.impact - 1) };
    const status = pick(['identified', 'assessed', 'in_treatment', 'in_treatment', 'accepted', 'closed'], index);
    const id = await api.create('risks', {
      identifiedAt: madeAt,
      refId: `R-${String(index + 1).padStart(3, '0')}`,
      title: `${title}, ${place}`,
      category,
      department: pick(departments, index),
      ownerId: pick(owners, index),
      sensitive: index % 9 === 8,
      inherent,
      ...(first !== undefined ? { current: first.rating } : index % 2 === 0 ? { current: lower } : {}),
      ...(index % 3 === 0 ? { residual: lower } : {}),
      status,
      treatment: status === 'accepted' ? 'accept' : pick(['mitigate', 'transfer', 'avoid', 'undecided'], index),
      reviewStatus: pick(['draft', 'in_review', 'approved'], index),
      ...(status === 'accepted' ? { acceptance: { expiresAt: daysAhead(60 + spread(index, 200)) } } : {}),
      nextReviewAt: daysAhead(spread(index, 180)),
      controlIds: [pick(controls, index)],
      assetIds: [pick(assets, index)],
      ...(index % 4 === 0 ? { evidenceIds: [pick(evidence, index)] } : {}),
    });
    for (const { rating } of later) await api.rate(id, rating);
    return later.map(({ at }, step) => ({ id, version: step + 2, at }));
  });
  return changed.flat();
}

const DAY_MS = 86_400_000;
const daysAgo = (days: number): string => new Date(Date.now() - days * DAY_MS).toISOString();
const daysAhead = (days: number): string => daysAgo(-days);

/** The part of surface A's public API that the demo data needs. */
interface RiskApi {
  /** Adds an item to a collection; returns its id. */
  create(collection: string, body: object): Promise<string>;
  rate(riskId: string, current: Rating): Promise<void>;
  endKey(id: string): Promise<void>;
  transition(evidenceId: string, body: object): Promise<void>;
  /** The same for a review: false if this caller has collected the item. */
  review(evidenceId: string, body: object): Promise<boolean>;
}

/** @throws UserError if it is rejected or not answered. Waits when rate limited. */
function riskApi(url: string, key: string): RiskApi {
  const headers = { authorization: `Bearer ${key}` };
  const post = (path: string, body: object): Promise<Posted> => postPatiently(`${url}${path}`, { headers, body });
  /** A transition that an attempt of unknown outcome has made is not made again: the state tells. */
  const step = async (id: string, body: object): Promise<Posted> => {
    const posted = await post(`/api/evidence/${id}/transitions`, body);
    const isDone = posted.mayRepeat && posted.members['code'] === 'INVALID_STATE_TRANSITION';
    return isDone ? { ...posted, status: 200 } : posted;
  };
  return {
    create: async (collection, body) => String(expectMade(await post(`/api/${collection}`, body))['id']),
    rate: async (id, current) => {
      const sent = { headers: { ...headers, 'if-match': '*' }, body: { current }, method: 'PATCH' };
      expectMade(await postPatiently(`${url}/api/risks/${id}`, sent));
    },
    async endKey(id) {
      const { status } = await fetch(`${url}/api/api-keys/${id}`, { method: 'DELETE', headers });
      if (status !== 204) throw new UserError(`A key of the demo could not be ended: ${status}.`);
    },
    transition: async (id, body) => void expectMade(await step(id, body)),
    async review(id, body) {
      const posted = await step(id, body);
      return posted.status === 403 ? false : expectMade(posted) !== undefined;
    },
  };
}
