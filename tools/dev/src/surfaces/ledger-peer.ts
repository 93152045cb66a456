import { join } from 'node:path';
import { adminCommand, quoted } from '../start/data-folder.ts';
import { tokenHash } from '../start/secrets.ts';
import type { DemoContext, DemoData, Example, ExampleContext, Surface, SurfaceContext } from '../start/surface.ts';
import { workspaceRoot } from '../workspace.ts';
import { bundled } from './bundled.ts';
import { commonEnv, operatorEnv, publicUrlEnv } from './common-env.ts';
import { fleetAssets } from './ledger-demo.ts';
import { expectMade, postPatiently } from './post-patiently.ts';

const networkId = 'demo';
const channel = `${networkId}.main`;
const peerKeyName = 'demo.peerKey';

/** Surface C. */
export const ledgerPeer: Surface = {
  ...bundled('ledger-peer'),
  number: 3,
  mcp: false,
  canIntegrate: true,
  // A body of 8 MiB may be a list of only `{}`, with requests, jobs and reads at the same time.
  nodeOptions: ['--max-old-space-size=400'],
  env,
  demo,
  examples,
};

function env(context: SurfaceContext): Record<string, string> {
  return {
    ...commonEnv('ledger-peer', context),
    ...publicUrlEnv(context),
    ...operatorEnv(context),
    API_KEY_HASHES: tokenHash(context.secrets.secret(peerKeyName)),
    MAPPING_FILE: join(workspaceRoot, 'apps/ledger-peer/demo/mapping.json'),
    PUBLIC_LOG: channel,
  };
}

/** Keys and mapping are settings, and the peer opens the channel. Assets sent again exist already. */
async function demo({ url, secrets }: DemoContext): Promise<DemoData> {
  const peer = secrets.secret(peerKeyName);
  const headers = { 'x-api-key': peer, 'idempotency-key': 'demo-fleet' };
  expectMade(await postPatiently(`${url}/api/assets`, { headers, body: { assets: fleetAssets() } }));
  return { networkId, channel, assetTypes: ['asset', 'demo.*'], keys: { peer } };
}

const assetId = 'asset-1';

function examples({ url, verifierKey, demo: { keys }, folder, dataPath }: ExampleContext): Example[] {
  const key = `-H 'X-Api-Key: ${keys['peer']}'`;
  const asset = `{"id":"${assetId}","type":"asset","data":{"colour":"blue"}}`;
  const proof = quoted(`${folder}/asset-proof.json`);
  return [
    {
      what: 'Write an asset to the ledger',
      line: `curl -sS ${url}/api/assets ${key} -H 'Content-Type: application/json' -d '{"assets":[${asset}]}'`,
    },
    {
      what: 'Fetch its inclusion proof',
      line: `curl -sS ${url}/ledger/${channel}/records/${assetId}/proof ${key} -o ${proof}`,
    },
    {
      what: 'Verify it offline, with only the key of the log',
      line: `npx sealgate-verify receipt ${proof} --key '${verifierKey}'`,
    },
    { what: 'Audit the whole log', line: adminCommand(`ledger audit ${channel}`, dataPath) },
  ];
}
