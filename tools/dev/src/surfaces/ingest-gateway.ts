import { adminClient, demoKey, textOf } from '../start/admin-client.ts';
import { adminCommand, quoted } from '../start/data-folder.ts';
import type { DemoContext, DemoData, Example, ExampleContext, Surface } from '../start/surface.ts';
import { bundled } from './bundled.ts';
import { commonEnv, operatorEnv, publicUrlEnv } from './common-env.ts';
import { fillLedger } from './ledger-demo.ts';
import { fillSource } from './source-demo.ts';

const networkId = 'demo';
const channel = 'main';

/** Surface D. */
export const ingestGateway: Surface = {
  ...bundled('ingest-gateway'),
  number: 4,
  mcp: false,
  canIntegrate: true,
  env: (context) => ({ ...commonEnv('ingest-gateway', context), ...operatorEnv(context), ...publicUrlEnv(context) }),
  demo,
  examples,
};

async function demo({ url, adminUrl, secrets }: DemoContext): Promise<DemoData> {
  const admin = adminClient(adminUrl, secrets.adminToken);
  const found = await admin.get(`/networks/${networkId}`);
  if (found.status === 404)
    textOf(await admin.post('/networks', { networkId, name: 'Demo', channels: [channel] }), 'networkId');
  else textOf(found, 'networkId');
  const path = `/networks/${networkId}/keys`;
  const ingest = await demoKey({ admin, secrets }, { name: 'demo.ingestKey', path, order: { label: 'Demo' } });
  const fullName = `${networkId}.${channel}`;
  await fillLedger({ url, key: ingest, admin, secrets, networkId, channel: fullName });
  await fillSource({ url, admin, secrets, networkId });
  return { networkId, channel: fullName, assetTypes: ['asset', 'demo.*'], keys: { ingest } };
}

const recordId = 'hello-1';

function examples({
  url,
  adminUrl,
  adminToken,
  verifierKey,
  demo: { keys },
  folder,
  dataPath,
}: ExampleContext): Example[] {
  const post = `curl -sS ${url}/${networkId} -H 'X-Api-Key: ${keys['ingest']}' -H 'Content-Type: application/json'`;
  const record = `{"id":"${recordId}","type":"demo.greeting","data":{"text":"Hello"}}`;
  const proof = `${adminUrl}/admin/v1/ledger/channels/${networkId}.${channel}/records/${recordId}/proof`;
  const files = { answer: quoted(`${folder}/answer.json`), proof: quoted(`${folder}/proof.json`) };
  return [
    { what: 'Check the key', line: `${post} -d '{"type":"ping"}'` },
    {
      what: 'Write a record, and save the response',
      line: `${post} -H 'Idempotency-Key: ${recordId}' -d '${record}' -o ${files.answer}`,
    },
    {
      what: 'Fetch its inclusion proof',
      line: `curl -sS ${proof} -H 'Authorization: Bearer ${adminToken}' -o ${files.proof}`,
    },
    {
      what: 'Verify both offline, with only the key of the log',
      line: `npx sealgate-verify answer ${files.answer} ${files.proof} --key '${verifierKey}'`,
    },
    { what: 'Call the admin API', line: adminCommand('networks list', dataPath) },
  ];
}
