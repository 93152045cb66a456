import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { approvedEvidence, rowsOf } from './testing/demo-rows.ts';
import { testInstallation, type TestInstallation, type TestPerson } from './testing/test-installation.ts';

const DAY_MS = 86_400_000;
let service: TestInstallation;

beforeAll(async () => {
  service = await testInstallation();
}, 120_000);
afterAll(() => service.stop());

const get = async (path: string, { key }: TestPerson) => (await service.api.get(path, key)).json;

describe('the trend of coverage', () => {
  interface State {
    covered: number;
    partial: number;
    gap: number;
    notApplicable: number;
  }
  const trendOf = async (person: TestPerson, months: number) => {
    const { frameworks } = (await get(`/api/trends?months=${months}`, person)) as {
      frameworks: { id: string; name: string; version: string; months: (State & { month: string })[] }[];
    };
    return frameworks.map((one) => ({
      ...one,
      months: one.months.map(({ covered, partial, gap, notApplicable }) => [covered, partial, gap, notApplicable]),
    }));
  };
  const monthsOf = async (person: TestPerson, months: number) => (await trendOf(person, months))[0]?.months;
  let org: string;
  let lead: TestPerson;
  let second: TestPerson;
  let narrow: TestPerson;
  let plain: TestPerson;
  let frameworkId: string;
  const ref = (requirementId: string) => ({ frameworkRefs: [{ frameworkId, requirementId }] });
  /** As if what is known of this month had been so for some months. */
  const ageAll = async (back: number) => {
    const earlier = `date_trunc('month', now(), 'UTC') - interval '${back} months'`;
    for (const table of ['evidence_changes', 'control_changes'])
      await service.sql.query({
        text: `UPDATE risk.${table} SET month = ${earlier} WHERE org_id = $1 AND month = date_trunc('month', now(), 'UTC')`,
        values: [org],
      });
    await service.sql.query({
      text: `UPDATE risk.requirements SET created_at = ${earlier} WHERE org_id = $1`,
      values: [org],
    });
  };

  beforeAll(async () => {
    org = await service.newOrg('Coverage');
    lead = await service.newPerson(org, ['owner']);
    second = await service.newPerson(org, ['admin']);
    plain = await service.newPerson(org, ['auditor']);
    narrow = await service.newPerson(org, ['viewer'], {
      scope: { departments: ['legal'], canReadSensitive: false, unrestricted: false },
    });
    frameworkId = await service.newFramework(org, ['A.1', 'A.2', 'A.3', 'A.4']);
  });

  it('tells the state of requirements at the end of each month, of the evidence and controls of then', async () => {
    const write = rowsOf(service, lead);
    const [first, other] = [await write.control(ref('A.1')), await write.control(ref('A.1'))];
    await write.control({ ...ref('A.3'), status: 'not_applicable' });
    const day = (days: number) => new Date(Date.now() + days * DAY_MS).toISOString();
    await approvedEvidence(service, [lead, second], { controlIds: [first.id], department: 'legal' });
    expect(await monthsOf(lead, 1)).toEqual([[0, 1, 2, 1]]);
    await ageAll(2);
    expect(await monthsOf(lead, 4)).toEqual([
      [0, 0, 0, 0],
      [0, 1, 2, 1],
      [0, 1, 2, 1],
      [0, 1, 2, 1],
    ]);
    await approvedEvidence(service, [lead, second], { controlIds: [other.id], sensitive: true, validUntil: day(400) });
    expect(await monthsOf(lead, 2)).toEqual([
      [0, 1, 2, 1],
      [1, 0, 2, 1],
    ]);
    // Sensitive rows, and those of other departments, count for nobody else.
    expect((await monthsOf(plain, 2))?.at(-1)).toEqual([0, 1, 2, 1]);
    expect((await monthsOf(narrow, 1))?.at(-1)).toEqual([0, 1, 2, 1]);
    const late = await write.control(ref('A.4'));
    await approvedEvidence(service, [lead, second], { controlIds: [late.id], department: 'sales' });
    expect((await monthsOf(plain, 2))?.at(-1)).toEqual([1, 1, 1, 1]);
    expect((await monthsOf(narrow, 1))?.at(-1)).toEqual([0, 1, 2, 1]);
    await write.change(`/api/controls/${late.id}`, { status: 'retired' });
    expect(await monthsOf(lead, 2)).toEqual([
      [0, 1, 2, 1],
      [1, 0, 2, 1],
    ]);
    expect((await trendOf(lead, 1))[0]).toMatchObject({ id: frameworkId, name: expect.any(String) });
  }, 60_000);

  it('says of now what coverage says, also of evidence that ends or is revoked', async () => {
    const write = rowsOf(service, lead);
    const control = await write.control(ref('A.2'));
    const states = async () => {
      const { items } = (await get('/api/v1/coverage', lead)) as { items: { state: keyof State }[] };
      return (['covered', 'partial', 'gap', 'not_applicable'] as const).map(
        (state) => items.filter((one) => (one.state as string) === state).length,
      );
    };
    const ends = new Date(Date.now() + 3_000);
    const short = await approvedEvidence(service, [lead, second], {
      controlIds: [control.id],
      validUntil: ends.toISOString(),
    });
    expect(await monthsOf(lead, 1)).toEqual([[2, 0, 1, 1]]);
    expect(await states()).toEqual([2, 0, 1, 1]);
    await new Promise((resolve) => setTimeout(resolve, ends.getTime() - Date.now() + 50));
    expect(await monthsOf(lead, 1)).toEqual([[1, 0, 2, 1]]);
    expect(await states()).toEqual([1, 0, 2, 1]);
    // What had ended before is not taken off again.
    await write.transition(short.id, 'revoked', { reason: 'made up' });
    const again = await approvedEvidence(service, [lead, second], { controlIds: [control.id] });
    expect(await monthsOf(lead, 1)).toEqual([[2, 0, 1, 1]]);
    await write.transition(again.id, 'revoked', { reason: 'made up' });
    expect(await monthsOf(lead, 1)).toEqual([[1, 0, 2, 1]]);
    expect(await states()).toEqual([1, 0, 2, 1]);
  }, 60_000);
});
