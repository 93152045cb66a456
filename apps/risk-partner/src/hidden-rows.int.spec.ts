import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { until } from '@sealgate/testing';
import { approvedEvidence, listOf, newSha256, rowsOf, type Made } from './testing/demo-rows.ts';
import { testInstallation, type TestInstallation, type TestPerson } from './testing/test-installation.ts';
import { callTool } from './testing/http-caller.ts';

const COLLECTIONS = [
  'assets',
  'risks',
  'evidence',
  'controls',
  'policies',
  'frameworks',
  'coverage',
  'proofs',
  'snapshots',
];
const TOOLS = ['list_risks', 'list_assets', 'list_evidence', 'list_controls', 'get_coverage', 'list_proofs', 'whoami'];

const SEARCHED = ['risks', 'evidence', 'assets', 'controls', 'policies'];
const SEARCHES = ['a', 'R-1', 'hidden', 'evd_'];
const SORTED = {
  risks: ['createdAt', 'updatedAt', 'title', 'refId', 'currentScore', 'nextReviewAt', 'acceptanceExpiresAt'],
  evidence: ['title', 'validUntil'],
  assets: ['name', 'refId'],
  controls: ['title'],
  policies: ['title', 'nextReviewAt'],
};

let service: TestInstallation;
let orgId: string;
let owner: TestPerson;
let admin: TestPerson;
const watchers = new Map<string, TestPerson>();
let control: Made;
const seen: string[] = [];
/** Before a risk that all watchers see got worse. */
let sinceRose: string;

beforeAll(async () => {
  service = await testInstallation();
  orgId = await service.newOrg();
  owner = await service.newPerson(orgId, ['owner']);
  admin = await service.newPerson(orgId, ['admin']);
  watchers.set('viewer of ops', await service.newPerson(orgId, ['viewer'], { scope: { departments: ['ops'] } }));
  watchers.set(
    'contributor of ops',
    await service.newPerson(orgId, ['contributor'], { scope: { departments: ['ops'] } }),
  );
  watchers.set('auditor', await service.newPerson(orgId, ['auditor']));
  watchers.set('viewer of all', await service.newPerson(orgId, ['viewer'], { scope: { unrestricted: true } }));
  watchers.set('partner', await service.newPerson(orgId, ['partner_read']));
  const frameworkId = await service.newFramework(orgId, ['A.1', 'A.2', 'A.3']);
  const write = rowsOf(service, owner);
  control = await write.control({ frameworkRefs: [{ frameworkId, requirementId: 'A.1' }] });
  const other = await write.control({ frameworkRefs: [{ frameworkId, requirementId: 'A.2' }] });
  const evidence = await approvedEvidence(service, [owner, admin], { department: 'ops', controlIds: [control.id] });
  const asset = await write.asset({ department: 'ops', controlIds: [other.id] });
  const links = { assetIds: [asset.id], controlIds: [control.id], evidenceIds: [evidence.id] };
  const risks = [
    await write.risk({ department: 'ops', refId: 'R-1', ...links }),
    await write.risk({ department: 'ops' }),
    await write.risk({ department: 'ops', category: 'legal' }),
  ];
  const policy = await write.policy();
  sinceRose = new Date(Date.parse(String(risks[2]!['createdAt'])) + 1).toISOString();
  await write.change(`/api/risks/${risks[0]!.id}`, { current: { likelihood: 5, impact: 5 } });
  await proofsOf(owner, 1);
  seen.push(
    ...risks.flatMap(({ id }) => [`/api/v1/risks/${id}`, `/api/risks/${id}`, `/api/risks/${id}/score-changes`]),
    `/api/v1/evidence/${evidence.id}`,
    `/api/evidence/${evidence.id}`,
    `/api/evidence/${evidence.id}/proof`,
    `/api/v1/assets/${asset.id}`,
    `/api/v1/controls/${control.id}`,
    `/api/v1/policies/${policy.id}`,
    `/api/v1/proofs?subjectId=${evidence.id}`,
    `/api/v1/evidence?controlId=${other.id}`,
    '/api/v1/evidence?controlId=ctl_none',
    '/api/v1/proofs?subjectId=evd_none',
  );
}, 120_000);
afterAll(() => service.stop());

/** An acceptance that runs out while the test runs. */
const soon = (): string => new Date(Date.now() + 2_000).toISOString();

const proofsOf = (person: TestPerson, count: number) =>
  until(async () => (await listOf(service, person.key, '/api/v1/proofs')).items.length === count, {
    what: `${count} proofs`,
    timeoutMs: 20_000,
  });

/** Paths whose responses are compared byte by byte. */
function paths(): string[] {
  return [
    ...COLLECTIONS.flatMap((name) => [`/api/v1/${name}`, `/api/v1/${name}?limit=1`, `/api/v1/${name}?limit=2`]),
    '/api/v1/risks?category=ops&level=medium',
    '/api/v1/risks?updatedSince=2020-01-01T00:00:00Z',
    `/api/v1/evidence?controlId=${control.id}&state=approved`,
    '/api/v1/coverage?state=gap',
    '/api/v1/coverage?state=covered',
    ...['risks', 'evidence', 'assets', 'controls', 'policies'].flatMap((name) => [
      `/api/${name}`,
      `/api/${name}?limit=2`,
    ]),
    '/api/risks?category=ops&level=medium',
    `/api/risks?worseSince=${sinceRose}`,
    `/api/risks?worseSince=${sinceRose}&sort=-currentScore&limit=1`,
    '/api/evidence?state=approved',
    ...SEARCHED.flatMap((name) => SEARCHES.flatMap((q) => [`/api/${name}?q=${q}`, `/api/v1/${name}?q=${q}&limit=1`])),
    ...Object.entries(SORTED).flatMap(([name, sorts]) =>
      sorts.flatMap((sort) => [`/api/${name}?sort=${sort}`, `/api/${name}?sort=-${sort}&limit=1&q=a`]),
    ),
    '/api/people',
    '/api/people?q=the&sort=-name',
    '/api/audit?resource=risk&limit=1',
    '/api/audit?action=risk.create',
    '/api/heat-map',
    '/api/trends?months=3',
    '/api/evidence-board',
    '/api/evidence-board?cards=3',
    '/api/audit',
    '/api/audit?limit=3',
    '/api/v1/whoami',
    ...seen,
  ];
}

/** Replaces what may change with a hidden row, and what names or counts the request itself. */
function normal(text: string): string {
  return text
    .replaceAll(/"(generatedAt|evidence_hash|snapshotId)":"[^"]*"/g, '"$1":"*"')
    .replaceAll(/"nextCursor":"[^"]+"/g, '"nextCursor":"*"')
    .replaceAll(/cursor=[\w-]+/g, 'cursor=*')
    .replaceAll(/urn:request:[^"]+/g, '*');
}

async function everything(person: TestPerson): Promise<Map<string, string>> {
  const answers = new Map<string, string>();
  for (const path of paths()) {
    const { status, headers, text } = await service.api.get(path, person.key);
    const total = headers['x-total-count'];
    const shown = { status, etag: headers.etag, link: headers.link, total, length: headers['content-length'] };
    answers.set(path, normal(JSON.stringify(shown)) + normal(text));
  }
  for (const name of TOOLS) {
    const { status, content } = await callTool(service.api, person.key, name, name === 'whoami' ? {} : { limit: 2 });
    answers.set(`tool ${name}`, `${status} ${normal(JSON.stringify(content))}`);
  }
  for (const name of ['list_risks', 'list_assets', 'list_evidence']) {
    const { status, content } = await callTool(service.api, person.key, name, { q: 'R-1', limit: 1 });
    answers.set(`tool ${name} q`, `${status} ${normal(JSON.stringify(content))}`);
  }
  for (const args of [{ refId: 'R-1' }, { id: 'R-1' }, { refId: 'R-hidden' }]) {
    const { status, content } = await callTool(service.api, person.key, 'get_risk', args);
    answers.set(`get_risk ${JSON.stringify(args)}`, `${status} ${normal(JSON.stringify(content))}`);
  }
  return answers;
}

it('adding, changing, approving, proving and deleting hidden rows changes no byte of the responses to others', async () => {
  const before = new Map<string, Map<string, string>>();
  for (const [name, person] of watchers) before.set(name, await everything(person));
  const check = async (step: string) => {
    for (const [name, person] of watchers) {
      const now = await everything(person);
      const changed = [...now].filter(([path, text]) => before.get(name)?.get(path) !== text).map(([path]) => path);
      expect({ step, name, changed }).toEqual({ step, name, changed: [] });
    }
  };
  const write = rowsOf(service, owner);
  const hidden = { department: 'ops', sensitive: true, controlIds: [control.id] };
  const risk = await write.risk({ ...hidden, refId: 'R-1' });
  await write.risk({ ...hidden, refId: 'R-hidden', status: 'accepted', acceptance: { expiresAt: soon() } });
  const asset = await write.asset(hidden);
  await write.asset({ department: null, sensitive: true });
  await check('added');
  const evidence = await approvedEvidence(service, [owner, admin], hidden);
  await proofsOf(owner, 2);
  await check('approved and proved');
  const current = { likelihood: 5, impact: 5 };
  await write.change(`/api/risks/${risk.id}`, {
    title: 'Worse',
    current,
    evidenceIds: [evidence.id],
    assetIds: [asset.id],
  });
  await write.change(`/api/evidence/${evidence.id}`, { department: 'legal' });
  await check('changed');
  await write.remove(`/api/assets/${asset.id}`);
  await write.transition(evidence.id, 'revoked', { reason: 'made up' });
  await write.remove(`/api/evidence/${evidence.id}`);
  await write.remove(`/api/risks/${risk.id}`);
  await check('deleted');
}, 120_000);

it('hidden rows change no byte of an export', async () => {
  const of = async (person: TestPerson) => {
    const answers: string[] = [];
    for (const name of SEARCHED)
      for (const query of ['format=csv', 'format=jsonl&sort=-updatedAt&q=r']) {
        const { status, text } = await service.api.get(`/api/${name}/export?${query}`, person.key);
        answers.push(`${status} ${normal(text)}`);
      }
    return answers;
  };
  const auditor = watchers.get('auditor')!;
  const viewer = watchers.get('viewer of all')!;
  const before = [await of(auditor), await of(viewer)];
  expect(before[0]?.every((text) => text.startsWith('200 '))).toBe(true);
  expect(before[1]?.every((text) => text.startsWith('403 '))).toBe(true);
  const hidden = { department: 'ops', sensitive: true, controlIds: [control.id], title: 'Rare' };
  await rowsOf(service, owner).risk({ ...hidden, refId: 'R-1' });
  await rowsOf(service, owner).evidence(hidden);
  await rowsOf(service, owner).asset({ ...hidden, title: undefined, name: 'Rare' });
  expect([await of(auditor), await of(viewer)]).toEqual(before);
});

it('a row of another department is hidden from callers with the department ops only', async () => {
  const viewer = watchers.get('viewer of ops')!;
  const auditor = watchers.get('auditor')!;
  const before = [await everything(viewer), await everything(auditor)] as const;
  await rowsOf(service, owner).risk({ department: 'legal' });
  expect([...(await everything(viewer))]).toEqual([...before[0]]);
  expect([...(await everything(auditor))]).not.toEqual([...before[1]]);
}, 60_000);

it('links to hidden rows are not shown, and survive a change of the list', async () => {
  const write = rowsOf(service, owner);
  const hidden = await write.evidence({ department: 'ops', sensitive: true });
  const open = await write.evidence({ department: 'ops' });
  const risk = await write.risk({ department: 'ops', evidenceIds: [hidden.id, open.id] });
  const contributor = watchers.get('contributor of ops')!;
  const path = `/api/risks/${risk.id}`;
  expect(((await service.api.get(path, contributor.key)).json as Made)['evidenceIds']).toEqual([open.id]);
  expect((await rowsOf(service, contributor).change(path, { evidenceIds: [] }))['evidenceIds']).toEqual([]);
  expect(((await service.api.get(path, owner.key)).json as Made)['evidenceIds']).toEqual([hidden.id]);
  const refused = await service.api.send('POST', '/api/evidence', {
    key: contributor.key,
    body: { title: 'x', kind: 'link', controlIds: ['ctl_none'] },
  });
  expect(refused.status).toBe(400);
  const naming = (id: string) =>
    service.api.send('PATCH', path, {
      key: contributor.key,
      headers: { 'if-match': '*' },
      body: { evidenceIds: [id] },
    });
  // A link to a hidden row is refused like one to a missing row.
  const [ofHidden, ofNothing] = [await naming(hidden.id), await naming('evd_none')];
  expect([ofHidden.status, normal(ofHidden.text)]).toEqual([400, normal(ofNothing.text)]);
});

it('a hidden successor neither shows in an error nor blocks another; a visible one does', async () => {
  const write = rowsOf(service, owner);
  const contributor = watchers.get('contributor of ops')!;
  const old = await approvedEvidence(service, [owner, admin], { department: 'ops' });
  const collect = () => {
    const body = { to: 'collected', sha256: newSha256() };
    return service.api.send('POST', `/api/evidence/${old.id}/transitions`, { key: contributor.key, body });
  };
  const hidden = await write.transition(old.id, 'collected', { sha256: newSha256() });
  await write.change(`/api/evidence/${hidden.id}`, { sensitive: true });
  const seenOne = await collect();
  expect([seenOne.status, seenOne.json]).toMatchObject([200, { previousId: old.id, version: 2 }]);
  expect((await collect()).status).toBe(409);
  // `previousId` is a link as well: null for callers who may not see that row.
  await write.change(`/api/evidence/${old.id}`, { sensitive: true });
  const path = `/api/evidence/${(seenOne.json as Made).id}`;
  expect((await service.api.get(path, owner.key)).json).toMatchObject({ previousId: old.id });
  expect((await service.api.get(path, contributor.key)).json).toMatchObject({ previousId: null });
  expect((await service.api.get('/api/evidence?limit=200', contributor.key)).text).not.toContain(old.id);
});

it('the audit hides all events of a row that became sensitive, also after its deletion, and shows them again with the row', async () => {
  const write = rowsOf(service, owner);
  const auditor = watchers.get('auditor')!;
  const made = [await write.risk(), await write.evidence({ kind: 'link', sha256: null }), await write.asset()];
  const paths = ['risks', 'evidence', 'assets'].map((name, at) => `/api/${name}/${made[at]!.id}`);
  const eventsOf = async ({ key }: TestPerson) =>
    ((await service.api.get('/api/audit?limit=200', key)).json as Made[])
      .filter(({ resourceId }) => made.some(({ id }) => id === resourceId))
      .map(({ action }) => String(action).split('.')[1]);
  expect(await eventsOf(auditor)).toEqual(['create', 'create', 'create']);
  for (const path of paths) await write.change(path, { sensitive: true });
  expect(await eventsOf(auditor)).toEqual([]);
  expect(await eventsOf(owner)).toHaveLength(6);
  await write.change(paths[0]!, { sensitive: false });
  expect(await eventsOf(auditor)).toEqual(['update', 'update', 'create']);
  for (const path of paths) await write.remove(path);
  expect(await eventsOf(auditor)).toEqual(['delete', 'update', 'update', 'create']);
  expect(await eventsOf(owner)).toHaveLength(10);
});
