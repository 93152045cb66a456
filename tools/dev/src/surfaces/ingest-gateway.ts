import { adminClient, textOf } from '../start/admin-client.ts';
import { adminCommand, quoted } from '../start/commands.ts';
import { ledgerOrigin, tokenHash, type Secrets } from '../start/secrets.ts';
import type { DemoContext, DemoData, Example, ExampleContext, Surface, SurfaceContext } from '../start/surface.ts';
import { bundled } from './bundled.ts';

const networkId = 'demo';
const channel = 'main';

/** Surface D. */
export const ingestGateway: Surface = {
  ...bundled('ingest-gateway'),
  number: 4,
  mcp: false,
  canIntegrate: true,
  env,
  demo,
  examples,
};

function env({
  ports,
  secrets,
  databaseUrl,
  redisUrl,
  checkpoints,
  integrates,
}: SurfaceContext): Record<string, string> {
  return {
    HOST: '127.0.0.1',
    PORT: String(ports.public),
    OPS_HOST: '127.0.0.1',
    OPS_PORT: String(ports.ops),
    ADMIN_HOST: '127.0.0.1',
    ADMIN_PORT: String(ports.admin),
    ADMIN_TOKEN_HASHES: tokenHash(secrets.adminToken),
    SERVER_SECRETS: `s1:${secrets.secret('ingest-gateway.serverSecret')}`,
    DATABASE_URL: databaseUrl,
    ...(redisUrl === undefined ? {} : { REDIS_URL: redisUrl }),
    LEDGER_DRIVER: 'embedded',
    LEDGER_ORIGIN: ledgerOrigin,
    LEDGER_INTEGRATOR: String(integrates),
    ...(integrates ? { LEDGER_SIGNING_KEY: secrets.ledger.signingKey, CHECKPOINT_DIR: checkpoints } : {}),
  };
}

async function demo({ adminUrl, secrets }: DemoContext): Promise<DemoData> {
  const admin = adminClient(adminUrl, secrets.adminToken);
  const found = await admin.get(`/networks/${networkId}`);
  if (found.status === 404)
    textOf(await admin.post('/networks', { networkId, name: 'Demo', channels: [channel] }), 'networkId');
  else textOf(found, 'networkId');
  const ingest = (await liveKey(admin, secrets)) ?? (await mintKey(admin, secrets));
  return { networkId, channel: `${networkId}.${channel}`, assetTypes: ['asset', 'demo.*'], keys: { ingest } };
}

const keyName = 'demo.ingestKey';
const keyIdName = 'demo.ingestKeyId';

/** The key of an earlier start, as long as nobody has revoked it or forgotten the database. */
async function liveKey(admin: ReturnType<typeof adminClient>, secrets: Secrets): Promise<string | undefined> {
  const id = secrets.recall(keyIdName);
  if (id === undefined) return undefined;
  const { status, body } = await admin.get(`/networks/${networkId}/keys/${id}`);
  return status === 200 && body['revokedAt'] === null ? secrets.recall(keyName) : undefined;
}

async function mintKey(admin: ReturnType<typeof adminClient>, secrets: Secrets): Promise<string> {
  const answer = await admin.post(`/networks/${networkId}/keys`, { label: 'Demo' });
  const rawKey = textOf(answer, 'rawKey');
  secrets.remember(keyName, rawKey);
  secrets.remember(keyIdName, textOf(answer, 'id'));
  return rawKey;
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
    { what: 'Ask whether the key works', line: `${post} -d '{"type":"ping"}'` },
    {
      what: 'Write a record, and keep the answer',
      line: `${post} -H 'Idempotency-Key: ${recordId}' -d '${record}' -o ${files.answer}`,
    },
    {
      what: 'Fetch the proof that it is in the log',
      line: `curl -sS ${proof} -H 'Authorization: Bearer ${adminToken}' -o ${files.proof}`,
    },
    {
      what: 'Check both offline, against the key of the log alone',
      line: `npx sealgate-verify answer ${files.answer} ${files.proof} --key '${verifierKey}'`,
    },
    { what: 'Ask the admin API', line: adminCommand('networks list', dataPath) },
  ];
}
