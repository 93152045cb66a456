import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { listOf, rowsOf, type ListEnvelope, type Made } from './testing/demo-rows.ts';
import { testInstallation, type TestInstallation, type TestPerson } from './testing/test-installation.ts';

const HOUR_MS = 3_600_000;

let service: TestInstallation;
beforeAll(async () => {
  service = await testInstallation();
}, 120_000);
afterAll(() => service.stop());

const pathOf = (limit: number, cursor: string | null): string =>
  `/api/v1/snapshots?limit=${limit}${cursor === null ? '' : `&cursor=${cursor}`}`;

async function walk({ key }: TestPerson, limit: number): Promise<Made[]> {
  const items: Made[] = [];
  for (let cursor: string | null = null, isFirst = true; isFirst || cursor !== null; isFirst = false) {
    const page: ListEnvelope = await listOf(service, key, pathOf(limit, cursor));
    items.push(...page.items);
    cursor = page.pagination.nextCursor;
  }
  return items;
}

it('lists the revisions that were replaced within a day and changed something for the caller, in pages of any size', async () => {
  const orgId = await service.newOrg();
  const owner = await service.newPerson(orgId, ['owner']);
  const partner = await service.newPerson(orgId, ['partner_read']);
  const viewer = await service.newPerson(orgId, ['viewer'], { scope: { departments: ['ops'] } });
  const write = rowsOf(service, owner);
  // Five hours apart; the first and the fourth are sensitive, the second, fourth and sixth of the viewer's department.
  const made: Made[] = [];
  for (let nth = 0; nth < 6; nth += 1) {
    made.push(await write.risk({ department: nth % 2 === 0 ? 'legal' : 'ops', sensitive: nth % 3 === 0 }));
    service.skewMs += 5 * HOUR_MS;
  }
  const day = (at: number) => new Date(Date.parse(String(made[at]!['createdAt'])) + 24 * HOUR_MS).toISOString();
  // Of each snapshot the risks, and when it expires: a day after the next one that the caller knows.
  const expected = [
    [owner, [2, 3, 4, 5, 6], [day(2), day(3), day(4), day(5), day(5)]],
    [partner, [1, 2, 3, 4], [day(2), day(4), day(5), day(5)]],
    [viewer, [1, 2], [day(5), day(5)]],
  ] as const;
  for (const [person, risks, ends] of expected) {
    const all = await walk(person, 200);
    expect(all.map(({ rowCounts }) => (rowCounts as { risks: number }).risks)).toEqual(risks);
    expect(all.map(({ expiresAt }) => expiresAt)).toEqual(ends);
    for (const limit of [1, 2]) expect(await walk(person, limit)).toEqual(all);
    for (const one of all) {
      const { json } = await service.api.get(`/api/v1/snapshots/${one.id}`, person.key);
      expect((json as { item: Made }).item).toEqual(one);
    }
  }
  const [first] = await walk(owner, 1);
  const before = `snap_${String(Number(first!.id.slice(5)) - 1).padStart(12, '0')}`;
  expect((await service.api.get(`/api/v1/snapshots/${before}`, owner.key)).status).toBe(404);
  // Nothing changed for the viewer in the third one.
  const hidden = (await walk(owner, 200))[1]!.id;
  expect((await service.api.get(`/api/v1/snapshots/${hidden}`, viewer.key)).status).toBe(404);
});
