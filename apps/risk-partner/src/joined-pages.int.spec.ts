import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { approvedEvidence, listOf, rowsOf, type Made } from './testing/demo-rows.ts';
import { testInstallation, type TestInstallation, type TestPerson } from './testing/test-installation.ts';

let service: TestInstallation;
let owner: TestPerson;
let reviewer: TestPerson;
let partner: TestPerson;

beforeAll(async () => {
  service = await testInstallation();
  const orgId = await service.newOrg();
  owner = await service.newPerson(orgId, ['owner']);
  reviewer = await service.newPerson(orgId, ['admin']);
  partner = await service.newPerson(orgId, ['partner_read']);
}, 120_000);
afterAll(() => service.stop());

/** Reads all pages with the given limit; returns their items in order. */
async function walk(path: string, limit: number): Promise<{ counts: number[]; items: Made[] }> {
  const counts: number[] = [];
  const items: Made[] = [];
  for (let cursor: string | null = ''; cursor !== null;) {
    const from: string = cursor === '' ? '' : `&cursor=${cursor}`;
    const page = await listOf(service, partner.key, `${path}&limit=${limit}${from}`);
    expect(page.pagination).toMatchObject({ limit, count: page.items.length });
    counts.push(page.items.length);
    items.push(...page.items);
    cursor = page.pagination.nextCursor;
  }
  return { counts, items };
}

describe('pages that the database joins', () => {
  it('are split between items, whatever their content', async () => {
    const names = ['a},{"b', 'Zürich — «€»', '😀😀', ',,', '\\"],[', 'last'];
    const ids: string[] = [];
    for (const name of names) ids.push((await rowsOf(service, owner).asset({ name, type: 'cut' })).id);
    const shown: unknown[] = [];
    for (const id of ids) {
      const answer = await service.api.get(`/api/v1/assets/${id}`, partner.key);
      shown.push((answer.json as { item: unknown }).item);
    }
    for (const limit of [1, 2, 4, 5, 6, 7, 200]) {
      const { items } = await walk('/api/v1/assets?type=cut', limit);
      expect(items).toEqual(shown);
      // The same without a filter, which is another statement.
      expect((await walk('/api/v1/assets?', limit)).items).toEqual(shown);
    }
    expect((await walk('/api/v1/assets?type=cut', 2)).counts).toEqual([2, 2, 2]);
    expect((await walk('/api/v1/assets?type=cut', 5)).counts).toEqual([5, 1]);
    expect((await walk('/api/v1/assets?type=none', 2)).counts).toEqual([0]);
  });

  it('show null for personal data of an older version, and the other items unchanged', async () => {
    const category = 'masked';
    const titles = ['Before', 'Harmless', 'After'];
    const rows: Made[] = [];
    for (const title of titles) rows.push(await rowsOf(service, owner).risk({ category, title }));
    await service.sql.query({
      text: `UPDATE risk.resources SET item = replace(item, 'Harmless', 'Ask ada@example.org') WHERE id = $1`,
      values: [rows[1]!.id],
    });
    for (const limit of [1, 2, 3, 200]) {
      const { items } = await walk('/api/v1/risks?category=masked', limit);
      expect(items).toMatchObject(rows.map(({ id }, at) => ({ id, title: at === 1 ? null : titles[at] })));
    }
    expect(service.logLines.filter((line) => line.includes('personal_data_masked'))[0]).toContain(rows[1]!.id);
  });

  it('scan items that were screened by other rules, or by none', async () => {
    const { id } = await rowsOf(service, owner).risk({ category: 'rules', title: 'Harmless' });
    const screening = async (): Promise<object> => {
      const text = 'SELECT screened_by, screened_in FROM risk.resources WHERE id = $1';
      return (await service.sql.query({ text, values: [id] }))[0]!;
    };
    expect(await screening()).toEqual({ screened_by: 1, screened_in: expect.any(String) });
    for (const screenedBy of ['0', 'NULL']) {
      const item = `replace(item, 'Harmless', 'Ask ada@example.org')`;
      await service.sql.query({
        text: `UPDATE risk.resources SET item = ${item}, screened_by = ${screenedBy}, screened_in = screened_in + 1 WHERE id = $1`,
        values: [id],
      });
      const { items } = await walk('/api/v1/risks?category=rules', 1);
      expect(items).toMatchObject([{ id, title: null }]);
    }
    // A change of another member writes the row, so it is screened again.
    await rowsOf(service, owner).change(`/api/risks/${id}`, { treatment: 'avoid' });
    expect(await screening()).toMatchObject({ screened_by: 1 });
    // A writer that does not know these columns resets them.
    await service.sql.query({ text: `UPDATE risk.resources SET item = item || ' ' WHERE id = $1`, values: [id] });
    expect(await screening()).toEqual({ screened_by: null, screened_in: null });
  });

  it('of evidence show each in its current state', async () => {
    const untils = [undefined, 40, 10, undefined];
    const ids: string[] = [];
    for (const days of untils) {
      const validUntil =
        days === undefined ? {} : { validUntil: new Date(Date.now() + days * 86_400_000).toISOString() };
      ids.push((await approvedEvidence(service, [owner, reviewer], { title: 'Paged', ...validUntil })).id);
    }
    for (const limit of [1, 3, 200]) {
      const { items } = await walk('/api/v1/evidence?', limit);
      expect(items.map(({ id, state }) => [id, state])).toEqual(
        ids.map((id, at) => [id, at === 2 ? 'expiring' : 'approved']),
      );
    }
  });
});
