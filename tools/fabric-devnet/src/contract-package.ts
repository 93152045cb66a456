import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { ContractName, NetworkPlan, OrganizationName } from './network-plan.ts';
import { tarOf } from './tar.ts';

export interface ContractPackage {
  readonly file: string;
  /** As the lifecycle calls it: the label, a colon and the SHA-256 of the file in lower hex. */
  readonly id: string;
}

/**
 * The package that tells a peer where its organisation's process of a contract listens. It is made once and then read,
 * since its hash is its name. The program is not in it: a new version of it needs a restart, and no new package.
 */
export function contractPackage(
  plan: NetworkPlan,
  contract: ContractName,
  organization: OrganizationName,
): ContractPackage {
  const file = join(plan.folders.packages, `${contract}-${organization}.tar.gz`);
  if (!existsSync(file)) {
    mkdirSync(plan.folders.packages, { recursive: true });
    writeFileSync(`${file}.new`, packageBytes(plan, contract, organization));
    renameSync(`${file}.new`, file);
  }
  return { file, id: `${contract}:${createHash('sha256').update(readFileSync(file)).digest('hex')}` };
}

/** A gzipped tar of metadata.json and code.tar.gz, which in turn holds what the builder hands to the peer. */
function packageBytes(plan: NetworkPlan, contract: ContractName, organization: OrganizationName): Buffer {
  const { contractPorts, contractTls } = plan.organizations.find(({ name }) => name === organization)!;
  const connection = {
    address: `127.0.0.1:${contractPorts[contract]}`,
    dial_timeout: '5s',
    tls_required: true,
    // A contract's process holds no state and answers only what the peer that called it lets it read.
    client_auth_required: false,
    root_cert: readFileSync(contractTls.caFile, 'utf8'),
  };
  const code = gzipSync(tarOf({ 'connection.json': JSON.stringify(connection) }));
  return gzipSync(tarOf({ 'metadata.json': JSON.stringify({ type: 'ccaas', label: contract }), 'code.tar.gz': code }));
}
