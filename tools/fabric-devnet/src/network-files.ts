import { X509Certificate } from 'node:crypto';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { channelProfile, configtx, coreYaml, cryptoConfig, ordererYaml } from './configuration.ts';
import { DevnetError } from './devnet-error.ts';
import type { NetworkPlan, OrganizationPlan } from './network-plan.ts';
import type { Nodes } from './compose-nodes.ts';

const builderSource = resolve(import.meta.dirname, '../builder');

/**
 * Creates keys, configuration and genesis blocks. Complete files are kept; those of an interrupted start are recreated.
 */
export async function makeNetworkFiles(plan: NetworkPlan, nodes: Nodes): Promise<void> {
  writeConfiguration(plan);
  await makeCrypto(plan, nodes);
  for (const { name, blockFile } of plan.channels) {
    if (existsSync(blockFile)) continue;
    mkdirSync(dirname(blockFile), { recursive: true });
    await nodes.run(
      'configtxgen',
      ['-profile', channelProfile, '-channelID', name, '-outputBlock', `${blockFile}.new`],
      { title: `configtxgen ${name}`, env: { FABRIC_CFG_PATH: plan.folders.config } },
    );
    renameSync(`${blockFile}.new`, blockFile);
  }
}

/** Written at every start: the content depends only on the settings and on this version. */
function writeConfiguration(plan: NetworkPlan): void {
  const { folders, orderer, organizations } = plan;
  const files = {
    [join(folders.config, 'crypto-config.yaml')]: cryptoConfig(plan),
    [join(folders.config, 'configtx.yaml')]: configtx(plan),
    [join(orderer.configFolder, 'orderer.yaml')]: ordererYaml(orderer),
    ...Object.fromEntries(
      organizations.map((organization) => [
        join(organization.peer.configFolder, 'core.yaml'),
        coreYaml(organization, plan),
      ]),
    ),
  };
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  cpSync(builderSource, folders.builder, { recursive: true });
  for (const name of ['detect', 'build', 'release']) chmodSync(join(folders.builder, 'bin', name), 0o755);
  // The nodes expect these folders to exist, and in a container only the parent is writable.
  for (const { stateFolder } of [orderer, ...organizations.map(({ peer }) => peer)])
    mkdirSync(stateFolder, { recursive: true });
}

/** Writes the connection files of clients. Called last: when a file exists, the network works. */
export function writeConnectionFiles(plan: NetworkPlan): void {
  const [first] = plan.organizations;
  const files = plan.organizations.map(
    (organization) => [organization.connectionFile, connectionFile(organization, plan)] as const,
  );
  for (const [file, text] of [...files, [plan.connectionFile, connectionFile(first!, plan)] as const]) {
    writeFileSync(`${file}.new`, text, { mode: 0o600 });
    renameSync(`${file}.new`, file);
  }
}

async function makeCrypto(plan: NetworkPlan, nodes: Nodes): Promise<void> {
  const { crypto, config } = plan.folders;
  if (existsSync(crypto)) return;
  rmSync(`${crypto}.new`, { recursive: true, force: true });
  const parameters = ['generate', `--config=${join(config, 'crypto-config.yaml')}`, `--output=${crypto}.new`];
  await nodes.run('cryptogen', parameters, { title: 'cryptogen generate' });
  renameSync(`${crypto}.new`, crypto);
}

/**
 * Throws DevnetError if a certificate of the network has expired or is not yet valid at `now` (milliseconds since
 * 1970).
 */
export function checkCertificates(plan: NetworkPlan, now: number): void {
  if (!existsSync(plan.folders.crypto)) return;
  for (const entry of readdirSync(plan.folders.crypto, { recursive: true, encoding: 'utf8' })) {
    if (!/\.(pem|crt)$/.test(entry)) continue;
    const file = join(plan.folders.crypto, entry);
    const { validFromDate, validToDate } = certificateOf(file);
    if (now >= validFromDate.getTime() && now < validToDate.getTime()) continue;
    const why =
      now < validFromDate.getTime() ? `is valid only from ${iso(validFromDate)}` : `expired at ${iso(validToDate)}`;
    throw new DevnetError(`The certificate ${file} ${why}. Recreate the network: npm run fabric:up -- --fresh.`);
  }
}

const iso = (date: Date): string => date.toISOString();

function certificateOf(file: string): X509Certificate {
  try {
    return new X509Certificate(readFileSync(file));
  } catch (cause) {
    throw new DevnetError(`The certificate ${file} is broken. Recreate the network: npm run fabric:up -- --fresh.`, {
      cause,
    });
  }
}

/**
 * FABRIC_CONFIG of a surface (libs/ledger/fabric): one organisation's user, its own peer first and the others for
 * failover. All Sealgate channels are mapped to `both`, where no organisation can write alone.
 */
function connectionFile(organization: OrganizationPlan, plan: NetworkPlan): string {
  const { mspId, user, userTls } = organization;
  const peers = [organization, ...plan.organizations.filter((other) => other !== organization)];
  const content = {
    mspId,
    certFile: user.certFile,
    keyFile: user.keyFile,
    peers: peers.map(({ peer, domain }) => ({
      endpoint: `127.0.0.1:${peer.port}`,
      tlsCaFile: peer.tls.caFile,
      ...(plan.settings.mutualTls === true ? { tlsCertFile: userTls.certFile, tlsKeyFile: userTls.keyFile } : {}),
      // A name in the certificate: TLS has no IP server names (RFC 6066).
      serverNameOverride: `peer.${domain}`,
    })),
    channels: plan.channels.map(({ name }) => (name === 'both' ? { name, holds: ['*'] } : { name })),
  };
  return `${JSON.stringify(content, undefined, 2)}\n`;
}
