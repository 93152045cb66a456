import { generateDocumentKey } from '@sealgate/envelope';
import { adminClient, demoKey, textOf } from '../start/admin-client.ts';
import { adminCommand, quoted } from '../start/data-folder.ts';
import type { Secrets } from '../start/secrets.ts';
import type { DemoContext, DemoData, Example, ExampleContext, Surface, SurfaceContext } from '../start/surface.ts';
import { bundled } from './bundled.ts';
import { commonEnv, publicUrlEnv } from './common-env.ts';
import { fillGate } from './gate-demo.ts';

const environment = 'live';
const venueId = 'harbour-hall';
const policyVersion = 'demo-1';
const scopes = [
  'case:write',
  'case:decide',
  'case:override',
  'case:seal',
  'case:read',
  'case:export',
  'eligibility:read',
  'gate:check',
];

/** Approves applicants with a passport, and leaves the rest to a person. */
const rules = {
  rules: [
    {
      when: { in: ['passport', { var: 'attachment_labels' }] },
      decision: 'approve',
      reason_codes: ['IDENTITY_SHOWN'],
    },
  ],
  default: { decision: 'refer', reason_codes: ['IDENTITY_NOT_SHOWN'] },
};

/** Surface B. */
export const caseGate: Surface = {
  ...bundled('case-gate'),
  number: 2,
  mcp: false,
  canIntegrate: true,
  env,
  demo,
  examples,
};

function env(context: SurfaceContext): Record<string, string> {
  return {
    ...commonEnv('case-gate', context),
    ...publicUrlEnv(context),
    DOCUMENT_SIGNING_KEY: signingKey(context.secrets),
    LEDGER_NETWORK: 'demo',
    LEDGER_CHANNEL: 'demo.cases',
  };
}

const signingKeyName = 'case-gate.signingKey';

/** Packs signed before a restart must stay verifiable. */
function signingKey(secrets: Secrets): string {
  const known = secrets.recall(signingKeyName);
  if (known !== undefined) return known;
  const made = generateDocumentKey();
  secrets.remember(signingKeyName, made);
  return made;
}

async function demo({ url, adminUrl, secrets }: DemoContext): Promise<DemoData> {
  const admin = adminClient(adminUrl, secrets.adminToken);
  const have = async (path: string, id: string, made: { path: string; body: object }): Promise<void> => {
    const found = await admin.get(path);
    textOf(found.status === 404 ? await admin.post(made.path, made.body) : found, id);
  };
  const venue = { venue_id: venueId, environment, name: 'Harbour Hall' };
  await have(`/venues/${venueId}`, 'venue_id', { path: '/venues', body: venue });
  const policy = { policy_version: policyVersion, environment, status: 'active', rules };
  await have(`/policies/${policyVersion}`, 'policy_version', { path: '/policies', body: policy });
  const order = { label: 'Demo', environment, scopes };
  const gate = await demoKey({ admin, secrets }, { name: 'demo.gateKey', path: '/keys', order });
  await fillGate({ url, admin, secrets, environment, scopes, policyVersion });
  return { environment, venueId, keys: { gate } };
}

function examples({ url, demo: { keys }, folder, dataPath }: ExampleContext): Example[] {
  const key = `-H 'Authorization: Bearer ${keys['gate']}' -H 'Content-Type: application/json'`;
  const jwks = quoted(`${folder}/packs.jwks.json`);
  return [
    {
      what: 'Ask the gate about an unknown subject',
      line: `curl -sS ${url}/v1/gate/check ${key} -d '{"subject_ref":"subj_nobody","venue_id":"${venueId}"}'`,
    },
    {
      what: 'Open a case',
      line: `curl -sS ${url}/v1/cases ${key} -H 'Idempotency-Key: case-1' -d '{"subject_ref":"subj_ada","venue_ids":["${venueId}"]}'`,
    },
    {
      what: 'Save the keys that verify assessor packs',
      line: `curl -sS ${url}/.well-known/jwks.json -o ${jwks}`,
    },
    { what: 'Call the admin API', line: adminCommand('policies list', dataPath) },
  ];
}
