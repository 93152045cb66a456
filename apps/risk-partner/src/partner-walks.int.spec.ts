import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { until } from '@sealgate/testing';
import fc from 'fast-check';
import { removeOldSnapshots } from './data/snapshot-retention.ts';
import { approvedEvidence, listOf, rowsOf, type ListEnvelope, type Made } from './testing/demo-rows.ts';
import { testInstallation, type TestInstallation, type TestPerson } from './testing/test-installation.ts';

let there: TestInstallation;
let orgId: string;
let owner: TestPerson;
let admin: TestPerson;
let partner: TestPerson;

beforeAll(async () => {
  there = await testInstallation();
  orgId = await there.newOrg();
  owner = await there.newPerson(orgId, ['owner']);
  admin = await there.newPerson(orgId, ['admin']);
  partner = await there.newPerson(orgId, ['partner_read']);
}, 120_000);
afterAll(() => there.stop());

/** Walks a list to its end, doing something between its pages. */
async function walk(path: string, limits: readonly number[], between: (page: number) => Promise<unknown>) {
  const pages: ListEnvelope[] = [];
  let cursor: string | null = null;
  do {
    const limit = limits[pages.length % limits.length]!;
    const query = cursor === null ? `limit=${limit}` : `limit=${limit}&cursor=${cursor}`;
    const page: ListEnvelope = await listOf(there, partner.key, `${path}${path.includes('?') ? '&' : '?'}${query}`);
    expect(page.pagination).toMatchObject({ limit, count: page.items.length });
    expect(page.items.length).toBeLessThanOrEqual(limit);
    pages.push(page);
    cursor = page.pagination.nextCursor;
    await between(pages.length);
  } while (cursor !== null);
  return pages;
}

const itemsOf = (pages: readonly ListEnvelope[]): Made[] => pages.flatMap(({ items }) => items);

describe('a walk under writes', () => {
  let walks = 0;

  it('meets every row that was there from its first page to its last exactly once, in order', async () => {
    const write = rowsOf(there, owner);
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
            const all = (await listOf(there, partner.key, `${path}&limit=200`)).items;
            if (shown.length < rows.length) shown.push(...rows.slice(shown.length, page * 2).map(({ id }) => id));
            const deed = deeds[page % deeds.length];
            if (page > 6) return;
            if (deed === 'add') await write.risk({ category });
            if (deed === 'remove last shown') await drop(all[0]?.id);
            if (deed === 'remove one ahead') await drop(all.at(-1)?.id);
            const [first] = [...untouched];
            if (deed === 'change' && first !== undefined)
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

  it('ends on a full page without a page that holds nothing', async () => {
    const category = 'exactly four';
    for (let count = 0; count < 4; count += 1) await rowsOf(there, owner).risk({ category });
    const pages = await walk('/api/v1/risks?category=exactly%20four', [2], async () => undefined);
    expect(pages.map(({ items }) => items.length)).toEqual([2, 2]);
  });
});

describe('a walk of coverage', () => {
  it('shows one revision on all of its pages, whatever is changed meanwhile', async () => {
    const write = rowsOf(there, owner);
    const requirements = ['1', '2', '3', '4', '5', '6', '7'];
    const frameworkId = await there.newFramework(orgId, requirements);
    const controls: Made[] = [];
    for (const requirementId of requirements.slice(0, 5))
      controls.push(await write.control({ frameworkRefs: [{ frameworkId, requirementId }] }));
    const evidence: Made[] = [];
    for (const { id } of controls.slice(0, 3))
      evidence.push(await approvedEvidence(there, [owner, admin], { controlIds: [id] }));
    const path = `/api/v1/coverage?framework=${frameworkId}`;
    const deeds = [
      () => write.transition(evidence[0]!.id, 'revoked', { reason: 'wrong' }),
      () => approvedEvidence(there, [owner, admin], { controlIds: [controls[4]!.id] }),
      () => write.change(`/api/controls/${controls[2]!.id}`, { status: 'not_applicable' }),
      () => write.remove(`/api/controls/${controls[1]!.id}`),
      () => there.newFramework(orgId, ['8']),
      () => write.change(`/api/controls/${controls[3]!.id}`, { frameworkRefs: [] }),
    ];
    const first = await listOf(there, partner.key, path);
    const states = (items: readonly Made[]) => items.map(({ state }) => state);
    expect(states(first.items)).toEqual(['covered', 'covered', 'covered', 'gap', 'gap', 'gap', 'gap']);
    const pages = await walk(path, [1], (page) => deeds[page - 1]?.() ?? Promise.resolve());
    expect(new Set(pages.map(({ snapshotId }) => snapshotId)).size).toBe(1);
    expect(itemsOf(pages)).toEqual(first.items);
    // The newest revision has all of it, and the old one can still be read by its name.
    const now = await listOf(there, partner.key, path);
    expect(states(now.items)).toEqual(['gap', 'gap', 'not_applicable', 'gap', 'covered', 'gap', 'gap']);
    const again = await listOf(there, partner.key, `${path}&snapshotId=${pages[0]!.snapshotId}`);
    expect(again).toMatchObject({ items: first.items, snapshotId: pages[0]!.snapshotId });
  }, 60_000);

  it('names the same revision until something changes, and another one then', async () => {
    // An organisation of its own: elsewhere the anchors of evidence that was approved before are still coming.
    const quiet = await there.newOrg();
    const reader = await there.newPerson(quiet, ['partner_read']);
    const writer = await there.newPerson(quiet, ['owner']);
    const id = async () => (await listOf(there, reader.key, '/api/v1/coverage?limit=1')).snapshotId;
    const before = await id();
    expect(await id()).toBe(before);
    expect((await listOf(there, reader.key, '/api/v1/proofs')).snapshotId).toBe(before);
    await rowsOf(there, writer).control();
    expect(await id()).not.toBe(before);
  });

  it('refuses a snapshot that is none, one that contradicts the cursor, and one that is older than a day', async () => {
    const status = async (path: string) => {
      const { status: code, json } = await there.api.get(path, partner.key);
      return `${code} ${(json as { code?: string }).code ?? ''}`;
    };
    const page = await listOf(there, partner.key, '/api/v1/coverage?limit=1');
    const cursor = page.pagination.nextCursor!;
    const same = `/api/v1/coverage?limit=1&cursor=${cursor}&snapshotId=${page.snapshotId}`;
    expect(await status(same)).toBe('200 ');
    for (const none of ['snap_999999999999', 'snap_1', 'nonsense', 'snap_000000000000', '', 'x'.repeat(300)])
      expect(await status(`/api/v1/coverage?snapshotId=${none}`)).toBe('404 NOT_FOUND');
    await rowsOf(there, owner).control();
    const newer = await listOf(there, partner.key, '/api/v1/coverage?limit=1');
    const other = `/api/v1/coverage?limit=1&cursor=${cursor}&snapshotId=${newer.snapshotId}`;
    expect(await status(other)).toBe('400 INVALID_CURSOR');
    // Whoever began when it was the newest has a day from the moment another one took its place.
    there.skewMs += 86_400_000 - 60_000;
    expect(await status(`/api/v1/coverage?snapshotId=${page.snapshotId}`)).toBe('200 ');
    there.skewMs += 120_000;
    expect(await status(`/api/v1/coverage?snapshotId=${page.snapshotId}`)).toBe('410 SNAPSHOT_EXPIRED');
    // What has not been replaced is as good as ever.
    expect(await status(`/api/v1/coverage?snapshotId=${newer.snapshotId}`)).toBe('200 ');
    expect(await status(`/api/v1/coverage?limit=1&cursor=${cursor}`)).toBe('400 INVALID_CURSOR');
  });
});

describe('snapshots', () => {
  it('count what the caller may see, and still do once old ones have been thrown away', async () => {
    const counts = async (person: TestPerson) => {
      const names = ['assets', 'risks', 'evidence', 'controls', 'policies', 'frameworks'];
      const found = names.map(async (name) => {
        let total = 0;
        let cursor: string | null = null;
        do {
          const page: ListEnvelope = await listOf(
            there,
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
      const id = (await listOf(there, person.key, '/api/v1/coverage?limit=1')).snapshotId;
      const answer = await there.api.get(`/api/v1/snapshots/${id}`, person.key);
      return (answer.json as { item: { rowCounts: Record<string, number> } }).item.rowCounts;
    };
    const viewer = await there.newPerson(orgId, ['viewer'], { scope: { departments: ['ops'] } });
    const write = rowsOf(there, owner);
    const moving = await write.risk({ department: 'ops' });
    await write.risk({ department: 'ops', sensitive: true });
    await write.asset({ department: 'ops' });
    await write.change(`/api/risks/${moving.id}`, { department: 'legal' });
    for (const person of [partner, viewer, owner]) expect(await newest(person)).toMatchObject(await counts(person));
    there.skewMs += 2 * 86_400_000;
    await write.risk({ department: 'ops' });
    const revisions = () => there.sql.query({ text: 'SELECT 1 FROM risk.revisions' });
    // What was approved before is anchored, which makes revisions of its own.
    const underWay = `SELECT 1 FROM risk.anchors WHERE state IN ('waiting', 'anchored')`;
    const anchors = () => there.sql.query({ text: underWay });
    await until(async () => (await anchors()).length === 0, { what: 'the proofs of all anchors', timeoutMs: 20_000 });
    const before = (await revisions()).length;
    const removed = await removeOldSnapshots(there.sql, Date.now() + there.skewMs);
    expect(removed).toBeGreaterThan(10);
    expect((await revisions()).length).toBe(before - removed);
    for (const person of [partner, viewer, owner]) expect(await newest(person)).toMatchObject(await counts(person));
    const gone = await there.api.get('/api/v1/coverage?snapshotId=snap_000000000003', partner.key);
    expect(gone.json).toMatchObject({ status: 410, code: 'SNAPSHOT_EXPIRED' });
  }, 60_000);
});

describe('the newest snapshot of a caller', () => {
  it('stays the one to read, however long others change what the caller cannot see', async () => {
    const DAY_MS = 86_400_000;
    await rowsOf(there, owner).control();
    const newest = async (person: TestPerson) =>
      (await listOf(there, person.key, '/api/v1/coverage?limit=1')).snapshotId;
    const mine = await newest(partner);
    const page = await listOf(there, partner.key, '/api/v1/coverage?limit=1');
    for (let count = 0; count < 3; count += 1) {
      there.skewMs += 2 * DAY_MS;
      await rowsOf(there, owner).risk({ sensitive: true });
    }
    there.skewMs += 2 * DAY_MS;
    await removeOldSnapshots(there.sql, Date.now() + there.skewMs);
    expect(await newest(partner)).toBe(mine);
    expect(await newest(owner)).not.toBe(mine);
    const again = await listOf(there, partner.key, `/api/v1/coverage?limit=1&snapshotId=${mine}`);
    expect(again.items).toEqual(page.items);
    expect((await there.api.get(`/api/v1/snapshots/${mine}`, partner.key)).status).toBe(200);
  }, 60_000);
});

describe('evidence that comes to its end', () => {
  it('is expiring for thirty days, then expired, and covers nothing from then on', async () => {
    const DAY_MS = 86_400_000;
    const frameworkId = await there.newFramework(orgId, ['E.1']);
    const control = await rowsOf(there, owner).control({ frameworkRefs: [{ frameworkId, requirementId: 'E.1' }] });
    const validUntil = new Date(Date.now() + there.skewMs + 40 * DAY_MS).toISOString();
    const { id } = await approvedEvidence(there, [owner, admin], { controlIds: [control.id], validUntil });
    const look = async () => {
      const item = (await there.api.get(`/api/v1/evidence/${id}`, partner.key)).json as { item: Made };
      const mine = (await there.api.get(`/api/evidence/${id}`, owner.key)).json as Made;
      const state = String(item.item['state']);
      expect(mine['state']).toBe(state);
      const found = await listOf(there, partner.key, `/api/v1/evidence?state=${state}&controlId=${control.id}`);
      const coverage = await listOf(there, partner.key, `/api/v1/coverage?framework=${frameworkId}`);
      return [state, found.items.length, coverage.items[0]!['state'], coverage.snapshotId] as const;
    };
    // The proof is a change too, so it is waited for.
    const proved = async () =>
      (await listOf(there, owner.key, '/api/v1/proofs')).items.some(({ subjectId }) => subjectId === id);
    await until(proved, { what: 'the proof', timeoutMs: 20_000 });
    const [, , , valid] = await look();
    expect(await look()).toEqual(['approved', 1, 'covered', valid]);
    there.skewMs += 11 * DAY_MS;
    expect(await look()).toEqual(['expiring', 1, 'covered', valid]);
    there.skewMs += 30 * DAY_MS;
    const [state, count, coverage, snapshotId] = await look();
    expect([state, count, coverage]).toEqual(['expired', 1, 'gap']);
    expect(snapshotId).not.toBe(valid);
    expect(await look()).toEqual(['expired', 1, 'gap', snapshotId]);
  }, 60_000);
});

it('a page is a new one for a cache before its cursor ends, and once its snapshot is not the newest', async () => {
  const [walk, coverage] = ['/api/v1/risks?limit=1', '/api/v1/coverage'] as const;
  for (const name of ['a', 'b']) await rowsOf(there, owner).risk({ title: name });
  const tagOf = async (path: string) => String((await there.api.get(path, partner.key)).headers.etag);
  const known = { [walk]: await tagOf(walk), [coverage]: await tagOf(coverage) };
  const ask = async (path: keyof typeof known) =>
    (await there.api.get(path, partner.key, { 'if-none-match': known[path] })).status;
  expect([await ask(walk), await ask(coverage)]).toEqual([304, 304]);
  await rowsOf(there, owner).risk({ sensitive: true });
  expect([await ask(walk), await ask(coverage)]).toEqual([304, 304]);
  await rowsOf(there, owner).asset();
  expect([await ask(walk), await ask(coverage)]).toEqual([304, 200]);
  // Half of the day that cursors last.
  there.skewMs += 12 * 3_600_000;
  expect(await ask(walk)).toBe(200);
});
