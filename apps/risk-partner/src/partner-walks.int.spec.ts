import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { until } from '@sealgate/testing';
import fc from 'fast-check';
import { removeOldSnapshots } from './data/partner-snapshots.ts';
import { approvedEvidence, listOf, rowsOf, type ListEnvelope, type Made } from './testing/demo-rows.ts';
import { testInstallation, type TestInstallation, type TestPerson } from './testing/test-installation.ts';

let service: TestInstallation;
let orgId: string;
let owner: TestPerson;
let admin: TestPerson;
let partner: TestPerson;

beforeAll(async () => {
  service = await testInstallation();
  orgId = await service.newOrg();
  owner = await service.newPerson(orgId, ['owner']);
  admin = await service.newPerson(orgId, ['admin']);
  partner = await service.newPerson(orgId, ['partner_read']);
}, 120_000);
afterAll(() => service.stop());

/** Reads a list to its end, running a step between pages. */
async function walk(path: string, limits: readonly number[], between: (page: number) => Promise<unknown>) {
  const pages: ListEnvelope[] = [];
  let cursor: string | null = null;
  do {
    const limit = limits[pages.length % limits.length]!;
    const query = cursor === null ? `limit=${limit}` : `limit=${limit}&cursor=${cursor}`;
    const page: ListEnvelope = await listOf(service, partner.key, `${path}${path.includes('?') ? '&' : '?'}${query}`);
    expect(page.pagination).toMatchObject({ limit, count: page.items.length });
    expect(page.items.length).toBeLessThanOrEqual(limit);
    pages.push(page);
    cursor = page.pagination.nextCursor;
    await between(pages.length);
  } while (cursor !== null);
  return pages;
}

const itemsOf = (pages: readonly ListEnvelope[]): Made[] => pages.flatMap(({ items }) => items);

describe('pagination under concurrent writes', () => {
  let walks = 0;

  it('returns every row that existed throughout exactly once, in order', async () => {
    const write = rowsOf(service, owner);
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 3 }),
        fc.array(fc.constantFrom('add', 'remove last shown', 'remove one ahead', 'change'), {
          minLength: 2,
          maxLength: 6,
        }),
        async (limits, deeds) => {
          const category = `walk ${(walks += 1)}`;
          const rows: Made[] = [];
          for (let count = 0; count < 7; count += 1) rows.push(await write.risk({ category }));
          const untouched = new Set(rows.map(({ id }) => id));
          const shown: string[] = [];
          const drop = async (id: string | undefined) => {
            if (id === undefined || !untouched.has(id)) return;
            untouched.delete(id);
            await write.remove(`/api/risks/${id}`);
          };
          const path = `/api/v1/risks?category=${encodeURIComponent(category)}`;
          const pages = await walk(path, limits, async (page) => {
            const all = (await listOf(service, partner.key, `${path}&limit=200`)).items;
            if (shown.length < rows.length) shown.push(...rows.slice(shown.length, page * 2).map(({ id }) => id));
            const entry = deeds[page % deeds.length];
            if (page > 6) return;
            if (entry === 'add') await write.risk({ category });
            if (entry === 'remove last shown') await drop(all[0]?.id);
            if (entry === 'remove one ahead') await drop(all.at(-1)?.id);
            const [first] = [...untouched];
            if (entry === 'change' && first !== undefined)
              await write.change(`/api/risks/${first}`, { title: 'Changed' });
          });
          const items = itemsOf(pages);
          const ids = items.map(({ id }) => id);
          expect(new Set(ids).size).toBe(ids.length);
          expect(ids).toEqual(expect.arrayContaining([...untouched]));
          const order = items.map(({ createdAt, id }) => `${String(createdAt)} ${id}`);
          expect(order).toEqual([...order].sort());
          expect(pages.at(-1)!.pagination.nextCursor).toBeNull();
        },
      ),
      { numRuns: 12 },
    );
  }, 120_000);

  it('ends on a full page, without an empty one', async () => {
    const category = 'exactly four';
    for (let count = 0; count < 4; count += 1) await rowsOf(service, owner).risk({ category });
    const pages = await walk('/api/v1/risks?category=exactly%20four', [2], async () => undefined);
    expect(pages.map(({ items }) => items.length)).toEqual([2, 2]);
  });
});

describe('pagination of coverage', () => {
  it('shows one revision on all pages, whatever changes in between', async () => {
    const write = rowsOf(service, owner);
    const requirements = ['1', '2', '3', '4', '5', '6', '7'];
    const frameworkId = await service.newFramework(orgId, requirements);
    const controls: Made[] = [];
    for (const requirementId of requirements.slice(0, 5))
      controls.push(await write.control({ frameworkRefs: [{ frameworkId, requirementId }] }));
    const evidence: Made[] = [];
    for (const { id } of controls.slice(0, 3))
      evidence.push(await approvedEvidence(service, [owner, admin], { controlIds: [id] }));
    const path = `/api/v1/coverage?framework=${frameworkId}`;
    const deeds = [
      () => write.transition(evidence[0]!.id, 'revoked', { reason: 'wrong' }),
      () => approvedEvidence(service, [owner, admin], { controlIds: [controls[4]!.id] }),
      () => write.change(`/api/controls/${controls[2]!.id}`, { status: 'not_applicable' }),
      () => write.remove(`/api/controls/${controls[1]!.id}`),
      () => service.newFramework(orgId, ['8']),
      () => write.change(`/api/controls/${controls[3]!.id}`, { frameworkRefs: [] }),
    ];
    const first = await listOf(service, partner.key, path);
    const states = (items: readonly Made[]) => items.map(({ state }) => state);
    expect(states(first.items)).toEqual(['covered', 'covered', 'covered', 'gap', 'gap', 'gap', 'gap']);
    const pages = await walk(path, [1], (page) => deeds[page - 1]?.() ?? Promise.resolve());
    expect(new Set(pages.map(({ snapshotId }) => snapshotId)).size).toBe(1);
    expect(itemsOf(pages)).toEqual(first.items);
    // The newest revision has all changes, and the old one can still be read by its id.
    const now = await listOf(service, partner.key, path);
    expect(states(now.items)).toEqual(['gap', 'gap', 'not_applicable', 'gap', 'covered', 'gap', 'gap']);
    const again = await listOf(service, partner.key, `${path}&snapshotId=${pages[0]!.snapshotId}`);
    expect(again).toMatchObject({ items: first.items, snapshotId: pages[0]!.snapshotId });
  }, 60_000);

  it('names the same revision until something changes, then another one', async () => {
    // A separate organisation: in the other one, anchors of earlier approvals are still pending.
    const quiet = await service.newOrg();
    const reader = await service.newPerson(quiet, ['partner_read']);
    const writer = await service.newPerson(quiet, ['owner']);
    const id = async () => (await listOf(service, reader.key, '/api/v1/coverage?limit=1')).snapshotId;
    const before = await id();
    expect(await id()).toBe(before);
    expect((await listOf(service, reader.key, '/api/v1/proofs')).snapshotId).toBe(before);
    await rowsOf(service, writer).control();
    expect(await id()).not.toBe(before);
  });

  it('refuses an unknown snapshot, one that contradicts the cursor, and one replaced more than a day ago', async () => {
    const status = async (path: string) => {
      const { status: code, json } = await service.api.get(path, partner.key);
      return `${code} ${(json as { code?: string }).code ?? ''}`;
    };
    const page = await listOf(service, partner.key, '/api/v1/coverage?limit=1');
    const cursor = page.pagination.nextCursor!;
    const same = `/api/v1/coverage?limit=1&cursor=${cursor}&snapshotId=${page.snapshotId}`;
    expect(await status(same)).toBe('200 ');
    for (const none of ['snap_999999999999', 'snap_1', 'nonsense', 'snap_000000000000', '', 'x'.repeat(300)])
      expect(await status(`/api/v1/coverage?snapshotId=${none}`)).toBe('404 NOT_FOUND');
    await rowsOf(service, owner).control();
    const newer = await listOf(service, partner.key, '/api/v1/coverage?limit=1');
    const other = `/api/v1/coverage?limit=1&cursor=${cursor}&snapshotId=${newer.snapshotId}`;
    expect(await status(other)).toBe('400 INVALID_CURSOR');
    // A walk of the newest snapshot has a day from the time it is replaced.
    service.skewMs += 86_400_000 - 60_000;
    expect(await status(`/api/v1/coverage?snapshotId=${page.snapshotId}`)).toBe('200 ');
    service.skewMs += 120_000;
    expect(await status(`/api/v1/coverage?snapshotId=${page.snapshotId}`)).toBe('410 SNAPSHOT_EXPIRED');
    // The newest snapshot does not expire.
    expect(await status(`/api/v1/coverage?snapshotId=${newer.snapshotId}`)).toBe('200 ');
    expect(await status(`/api/v1/coverage?limit=1&cursor=${cursor}`)).toBe('400 INVALID_CURSOR');
  });
});

describe('snapshots', () => {
  it('count the rows that the caller may see, also after old ones were removed', async () => {
    const counts = async (person: TestPerson) => {
      const names = ['assets', 'risks', 'evidence', 'controls', 'policies', 'frameworks'];
      const found = names.map(async (name) => {
        let total = 0;
        let cursor: string | null = null;
        do {
          const page: ListEnvelope = await listOf(
            service,
            person.key,
            `/api/v1/${name}?limit=200${cursor === null ? '' : `&cursor=${cursor}`}`,
          );
          total += page.items.length;
          cursor = page.pagination.nextCursor;
        } while (cursor !== null);
        return [name, total] as const;
      });
      return Object.fromEntries(await Promise.all(found));
    };
    const newest = async (person: TestPerson) => {
      const id = (await listOf(service, person.key, '/api/v1/coverage?limit=1')).snapshotId;
      const answer = await service.api.get(`/api/v1/snapshots/${id}`, person.key);
      return (answer.json as { item: { rowCounts: Record<string, number> } }).item.rowCounts;
    };
    const viewer = await service.newPerson(orgId, ['viewer'], { scope: { departments: ['ops'] } });
    const write = rowsOf(service, owner);
    const moving = await write.risk({ department: 'ops' });
    await write.risk({ department: 'ops', sensitive: true });
    await write.asset({ department: 'ops' });
    await write.change(`/api/risks/${moving.id}`, { department: 'legal' });
    for (const person of [partner, viewer, owner]) expect(await newest(person)).toMatchObject(await counts(person));
    service.skewMs += 2 * 86_400_000;
    await write.risk({ department: 'ops' });
    const revisions = () => service.sql.query({ text: 'SELECT 1 FROM risk.revisions' });
    // Earlier approvals are being anchored, which makes further revisions.
    const underWay = `SELECT 1 FROM risk.anchors WHERE state IN ('waiting', 'anchored')`;
    const anchors = () => service.sql.query({ text: underWay });
    await until(async () => (await anchors()).length === 0, { what: 'the proofs of all anchors', timeoutMs: 20_000 });
    const before = (await revisions()).length;
    const removed = await removeOldSnapshots(service.sql, Date.now() + service.skewMs);
    expect(removed).toBeGreaterThan(10);
    expect((await revisions()).length).toBe(before - removed);
    for (const person of [partner, viewer, owner]) expect(await newest(person)).toMatchObject(await counts(person));
    const gone = await service.api.get('/api/v1/coverage?snapshotId=snap_000000000003', partner.key);
    expect(gone.json).toMatchObject({ status: 410, code: 'SNAPSHOT_EXPIRED' });
  }, 60_000);
});

describe('the newest snapshot of a caller', () => {
  it('stays readable however long others change rows hidden from the caller', async () => {
    const DAY_MS = 86_400_000;
    await rowsOf(service, owner).control();
    const newest = async (person: TestPerson) =>
      (await listOf(service, person.key, '/api/v1/coverage?limit=1')).snapshotId;
    const mine = await newest(partner);
    const page = await listOf(service, partner.key, '/api/v1/coverage?limit=1');
    for (let count = 0; count < 3; count += 1) {
      service.skewMs += 2 * DAY_MS;
      await rowsOf(service, owner).risk({ sensitive: true });
    }
    service.skewMs += 2 * DAY_MS;
    await removeOldSnapshots(service.sql, Date.now() + service.skewMs);
    expect(await newest(partner)).toBe(mine);
    expect(await newest(owner)).not.toBe(mine);
    const again = await listOf(service, partner.key, `/api/v1/coverage?limit=1&snapshotId=${mine}`);
    expect(again.items).toEqual(page.items);
    expect((await service.api.get(`/api/v1/snapshots/${mine}`, partner.key)).status).toBe(200);
  }, 60_000);
});

describe('evidence that expires', () => {
  it('is expiring for thirty days, then expired and without effect on coverage', async () => {
    const DAY_MS = 86_400_000;
    const frameworkId = await service.newFramework(orgId, ['E.1']);
    const control = await rowsOf(service, owner).control({ frameworkRefs: [{ frameworkId, requirementId: 'E.1' }] });
    const validUntil = new Date(Date.now() + service.skewMs + 40 * DAY_MS).toISOString();
    const { id } = await approvedEvidence(service, [owner, admin], { controlIds: [control.id], validUntil });
    const look = async () => {
      const item = (await service.api.get(`/api/v1/evidence/${id}`, partner.key)).json as { item: Made };
      const mine = (await service.api.get(`/api/evidence/${id}`, owner.key)).json as Made;
      const state = String(item.item['state']);
      expect(mine['state']).toBe(state);
      const found = await listOf(service, partner.key, `/api/v1/evidence?state=${state}&controlId=${control.id}`);
      const coverage = await listOf(service, partner.key, `/api/v1/coverage?framework=${frameworkId}`);
      return [state, found.items.length, coverage.items[0]!['state'], coverage.snapshotId] as const;
    };
    // The proof is a change too, so wait for it.
    const proved = async () =>
      (await listOf(service, owner.key, '/api/v1/proofs')).items.some(({ subjectId }) => subjectId === id);
    await until(proved, { what: 'the proof', timeoutMs: 20_000 });
    const [, , , valid] = await look();
    expect(await look()).toEqual(['approved', 1, 'covered', valid]);
    service.skewMs += 11 * DAY_MS;
    expect(await look()).toEqual(['expiring', 1, 'covered', valid]);
    service.skewMs += 30 * DAY_MS;
    const [state, count, coverage, snapshotId] = await look();
    expect([state, count, coverage]).toEqual(['expired', 1, 'gap']);
    expect(snapshotId).not.toBe(valid);
    expect(await look()).toEqual(['expired', 1, 'gap', snapshotId]);
  }, 60_000);
});

it('the ETag of a page changes before its cursor expires, and when its snapshot is replaced', async () => {
  const [walk, coverage] = ['/api/v1/risks?limit=1', '/api/v1/coverage'] as const;
  for (const name of ['a', 'b']) await rowsOf(service, owner).risk({ title: name });
  const tagOf = async (path: string) => String((await service.api.get(path, partner.key)).headers.etag);
  const known = { [walk]: await tagOf(walk), [coverage]: await tagOf(coverage) };
  const ask = async (path: keyof typeof known) =>
    (await service.api.get(path, partner.key, { 'if-none-match': known[path] })).status;
  expect([await ask(walk), await ask(coverage)]).toEqual([304, 304]);
  await rowsOf(service, owner).risk({ sensitive: true });
  expect([await ask(walk), await ask(coverage)]).toEqual([304, 304]);
  await rowsOf(service, owner).asset();
  expect([await ask(walk), await ask(coverage)]).toEqual([304, 200]);
  // Half the lifetime of a cursor.
  service.skewMs += 12 * 3_600_000;
  expect(await ask(walk)).toBe(200);
});
