import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { openDatabase } from '@sealgate/storage';
import { throwawayPostgres } from '@sealgate/testing';
import { approvedEvidence, listOf } from './testing/demo-rows.ts';
import { testInstallation, type TestInstallation, type TestPerson } from './testing/test-installation.ts';

let service: TestInstallation;
let owner: TestPerson;
let admin: TestPerson;

/**
 * A PostgreSQL server in a time zone with daylight saving time: an hour is skipped there on the last Sunday of March.
 */
beforeAll(async () => {
  const postgres = await throwawayPostgres();
  const { url } = postgres;
  const options = { applicationName: 'spec', maxConnections: 1, connectTimeoutMs: 5000, deadlineMs: 5000 };
  const sql = openDatabase({ url, ...options });
  await sql.query({ text: `ALTER DATABASE "${new URL(url).pathname.slice(1)}" SET timezone = 'Europe/Berlin'` });
  await sql.close();
  service = await testInstallation({}, postgres);
  const orgId = await service.newOrg();
  owner = await service.newPerson(orgId, ['owner']);
  admin = await service.newPerson(orgId, ['admin']);
}, 120_000);
afterAll(() => service.stop());

it('evidence is expiring for 720 hours, by state and by filter, in every time zone of the database', async () => {
  const endMs = Date.UTC(new Date().getUTCFullYear() + 1, 3, 10);
  const { id } = await approvedEvidence(service, [owner, admin], { validUntil: new Date(endMs).toISOString() });
  const found = async (state: string) =>
    (await listOf(service, owner.key, `/api/v1/evidence?state=${state}`)).items.map((item) => [item.id, item['state']]);
  const goTo = (ms: number) => (service.skewMs = ms - Date.now());
  const beginsMs = endMs - 720 * 3_600_000;
  goTo(beginsMs - 60_000);
  expect([await found('approved'), await found('expiring')]).toEqual([[[id, 'approved']], []]);
  goTo(beginsMs + 60_000);
  expect([await found('approved'), await found('expiring')]).toEqual([[], [[id, 'expiring']]]);
});
