import { adminClient, textOf } from '../start/admin-client.ts';
import { adminCommand, quoted } from '../start/data-folder.ts';
import type { DemoContext, DemoData, Example, ExampleContext, Surface } from '../start/surface.ts';
import { bundled } from './bundled.ts';
import { commonEnv, publicUrlEnv } from './common-env.ts';
import { fillOrganisation } from './risk-demo/fill-organisation.ts';
import { demoPeople, linkIdentities, type DemoPerson } from './risk-demo/people.ts';

/** Surface A. */
export const riskPartner: Surface = {
  ...bundled('risk-partner'),
  number: 1,
  mcp: true,
  canIntegrate: true,
  env: (context) => ({
    ...commonEnv('risk-partner', context),
    ...publicUrlEnv(context),
    ...(context.consoleUrl === undefined ? {} : { CONSOLE_URL: context.consoleUrl }),
  }),
  demo,
  examples,
};

const orgName = 'demo.riskOrgId';

/**
 * One realistic organisation, with a person and a key for each role. Its id is stored once it is complete: after an
 * interrupted start, the next one creates another.
 */
async function demo({ adminUrl, url, databaseUrl, secrets, signIn }: DemoContext): Promise<DemoData> {
  const admin = adminClient(adminUrl, secrets.adminToken);
  const known = secrets.recall(orgName);
  const found = known === undefined ? undefined : await admin.get(`/orgs/${known}`);
  if (known !== undefined && found?.status === 200) {
    const people = await demoPeople({ admin, secrets, orgId: known });
    await linkIdentities({ admin, orgId: known, people }, signIn);
    return { orgId: known, keys: keysOf(people) };
  }
  const orgId = textOf(await admin.post('/orgs', { name: 'Nordlicht Logistik (demo)' }), 'id');
  const people = await demoPeople({ admin, secrets, orgId });
  await linkIdentities({ admin, orgId, people }, signIn);
  await fillOrganisation({ url, databaseUrl, admin, orgId, people });
  secrets.remember(orgName, orgId);
  return { orgId, keys: keysOf(people) };
}

const keysOf = (people: readonly DemoPerson[]): Record<string, string> =>
  Object.fromEntries(people.map(({ role, key }) => [role, key]));

function examples({ url, demo: { keys }, folder, dataPath }: ExampleContext): Example[] {
  const as = (role: string) => `-H 'Authorization: Bearer ${keys[role]}'`;
  const files = {
    page: quoted(`${folder}/risks.json`),
    headers: quoted(`${folder}/risks.headers`),
    keys: quoted(`${folder}/partner.jwks.json`),
  };
  return [
    { what: 'List risks as a viewer', line: `curl -sS '${url}/api/risks?limit=5' ${as('viewer')}` },
    {
      what: 'Read a page as a partner, with its signature',
      line: `curl -sS '${url}/api/v1/risks?limit=50' ${as('partner_read')} -o ${files.page} -D ${files.headers}`,
    },
    { what: 'Save the keys of the envelopes', line: `curl -sS ${url}/.well-known/jwks.json -o ${files.keys}` },
    {
      what: 'Verify the page offline',
      line: `npx sealgate-verify envelope ${files.page} --signature ${files.headers} --jwks ${files.keys}`,
    },
    { what: 'Call the admin API', line: adminCommand('orgs list', dataPath) },
  ];
}
