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
import { channelProfile, configtx } from './config/configtx.ts';
import { coreYaml } from './config/core-yaml.ts';
import { cryptoConfig } from './config/crypto-config.ts';
import { ordererYaml } from './config/orderer-yaml.ts';
import { connectionFile } from './connection-file.ts';
import { DevnetError } from './devnet-error.ts';
import type { NetworkPlan } from './network-plan.ts';
import type { Nodes } from './nodes.ts';

const builderSource = resolve(import.meta.dirname, '../builder');

/** Keys, configuration and first blocks. What is there already stays; what a killed start left half made is made anew. */
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

/** Written at every start: it follows from the settings alone, and from what this version makes of them. */
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
  // The nodes want these there, and in a container only their parent is ours.
  for (const { stateFolder } of [orderer, ...organizations.map(({ peer }) => peer)])
    mkdirSync(stateFolder, { recursive: true });
}

/** Where surfaces read how to reach the network; written last, so that who waits for it finds a network that works. */
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

/** Throws DevnetError when a certificate of the network has ended, or has not begun, at `now` (milliseconds since 1970). */
export function checkCertificates(plan: NetworkPlan, now: number): void {
  if (!existsSync(plan.folders.crypto)) return;
  for (const entry of readdirSync(plan.folders.crypto, { recursive: true, encoding: 'utf8' })) {
    if (!/\.(pem|crt)$/.test(entry)) continue;
    const file = join(plan.folders.crypto, entry);
    const { validFromDate, validToDate } = certificateOf(file);
    if (now >= validFromDate.getTime() && now < validToDate.getTime()) continue;
    const why =
      now < validFromDate.getTime() ? `is valid only from ${iso(validFromDate)}` : `ended at ${iso(validToDate)}`;
    throw new DevnetError(`The certificate ${file} ${why}. Make the network anew: npm run fabric:up -- --fresh.`);
  }
}

const iso = (date: Date): string => date.toISOString();

function certificateOf(file: string): X509Certificate {
  try {
    return new X509Certificate(readFileSync(file));
  } catch (cause) {
    throw new DevnetError(`The certificate ${file} is broken. Make the network anew: npm run fabric:up -- --fresh.`, {
      cause,
    });
  }
}
