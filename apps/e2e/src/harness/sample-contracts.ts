import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { openFaults, up, type OrganizationName } from '@sealgate/fabric-devnet';
import { peerSetup, type PeerSetup } from './peer-setup.ts';
import type { FabricAccess } from './fabric-network.ts';

const page = resolve(import.meta.dirname, '../../../../infra/operations/fabric-contracts.md');

/** The folders of Fabric's samples whose contracts the page maps; a program of that name is built from each. */
export const SAMPLES = [
  'asset-transfer-basic',
  'asset-transfer-ledger-queries',
  'asset-transfer-events',
  'token-erc-20',
  'asset-transfer-private-data',
  'asset-transfer-secured-agreement',
  'asset-transfer-abac',
] as const;

interface SampleMapping {
  readonly type: string;
  readonly chaincode: string;
}

/** All mappings of the page, for an organisation of the development network: `Org1MSP` is its own, `Org2MSP` the other. */
export function mappingsOfPage(organization: OrganizationName): SampleMapping[] {
  const [own, other] = organization === 'north' ? ['North', 'South'] : ['South', 'North'];
  const blocks = [...readFileSync(page, 'utf8').matchAll(/^```json\n([^]*?)^```$/gm)].map(([, text]) => text!);
  const texts = blocks.map((text) => text.replaceAll('Org1MSP', `${own}MSP`).replaceAll('Org2MSP', `${other}MSP`));
  return texts.flatMap((text) => (JSON.parse(text) as { mappings: SampleMapping[] }).mappings);
}

const collection = (name: string, members: readonly string[]) => ({
  name,
  policy: `OR(${members.map((mspId) => `'${mspId}.member'`).join(',')})`,
  requiredPeerCount: 0,
  maxPeerCount: 1,
  blockToLive: 1_000_000,
  memberOnlyRead: true,
  memberOnlyWrite: false,
  endorsementPolicy: { signaturePolicy: `OR(${members.map((mspId) => `'${mspId}.member'`).join(',')})` },
});

/** Those of asset-transfer-private-data: one of both organisations, and one of each, called after it. */
const COLLECTIONS = [
  collection('assetCollection', ['NorthMSP', 'SouthMSP']),
  ...['NorthMSP', 'SouthMSP'].map((mspId) => collection(`${mspId}PrivateCollection`, [mspId])),
];

/** Programs of Fabric's samples that the folder does not have. */
export const missingSamples = (programs: string): readonly string[] =>
  SAMPLES.filter((name) => !existsSync(join(programs, name)));

/** Adds the samples' contracts to a running network. */
export async function runSamples(data: string, programs: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'sealgate-e2e-samples-'));
  try {
    const collections = join(folder, 'collections.json');
    writeFileSync(collections, JSON.stringify(COLLECTIONS));
    await up({
      data,
      programs: Object.fromEntries(SAMPLES.map((name) => [name, resolve(programs, name)])),
      collections: { 'asset-transfer-private-data': collections },
      env: process.env,
      now: Date.now,
      tell: () => undefined,
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

export interface SamplePeer {
  readonly setup: PeerSetup;
  stop(): Promise<void>;
}

/**
 * A ledger peer of an organisation with the page's mappings. `acme.main` is the channel where both organisations endorse,
 * `acme.trade` the one where either does. It knows the peers of both, its own first.
 */
export async function samplePeer(
  data: string,
  organization: OrganizationName,
  signer?: Pick<FabricAccess, 'certFile' | 'keyFile'>,
  further: readonly SampleMapping[] = [],
): Promise<SamplePeer> {
  const { plan } = await openFaults({ data, env: process.env });
  const own = plan.organizations.find(({ name }) => name === organization)!;
  const peers = [own, ...plan.organizations.filter((one) => one !== own)].map(({ peer, domain }) => ({
    endpoint: `127.0.0.1:${peer.port}`,
    tlsCaFile: peer.tls.caFile,
    serverNameOverride: `peer.${domain}`,
  }));
  const { certFile, keyFile } = signer ?? own.user;
  const channels = [
    { name: 'both', holds: ['acme.main'] },
    { name: 'either', holds: ['acme.trade'] },
  ];
  const folder = mkdtempSync(join(tmpdir(), 'sealgate-e2e-samples-'));
  const [config, mapping] = ['fabric.json', 'mapping.json'].map((name) => join(folder, name)) as [string, string];
  writeFileSync(config, JSON.stringify({ mspId: own.mspId, certFile, keyFile, peers, channels }));
  writeFileSync(mapping, JSON.stringify({ mappings: [...mappingsOfPage(organization), ...further] }));
  const setup = await peerSetup({
    env: {
      LEDGER_DRIVER: 'fabric',
      FABRIC_CONFIG: config,
      MAPPING_FILE: mapping,
      LEDGER_INTEGRATOR: undefined,
      LEDGER_SIGNING_KEY: undefined,
    },
  });
  return {
    setup,
    async stop() {
      await setup.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
