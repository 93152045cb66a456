import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { NetworkPlan, OrganizationName } from './network-plan.ts';
import { tarGz } from './tar-gz.ts';

interface ContractPackage {
  readonly file: string;
  /** Package id of the lifecycle: the label, a colon and the SHA-256 of the file in lower-case hex. */
  readonly id: string;
}

/**
 * The package that tells a peer the address of its organisation's contract process. Created once and then reused,
 * because its hash is its id. It does not contain the program: a changed program needs a restart, not a new package.
 */
export function contractPackage(plan: NetworkPlan, contract: string, organization: OrganizationName): ContractPackage {
  const file = join(plan.folders.packages, `${contract}-${organization}.tar.gz`);
  if (!existsSync(file)) {
    mkdirSync(plan.folders.packages, { recursive: true });
    writeFileSync(`${file}.new`, packageBytes(plan, contract, organization));
    renameSync(`${file}.new`, file);
  }
  return { file, id: `${contract}:${createHash('sha256').update(readFileSync(file)).digest('hex')}` };
}

/** A gzipped tar of metadata.json and code.tar.gz; the latter contains the input of the external builder. */
function packageBytes(plan: NetworkPlan, contract: string, organization: OrganizationName): Buffer {
  const { contractPorts, contractTls } = plan.organizations.find(({ name }) => name === organization)!;
  const connection = {
    address: `127.0.0.1:${contractPorts[contract]}`,
    dial_timeout: '5s',
    tls_required: true,
    // A contract process holds no state: it can only read what the calling peer lets it read.
    client_auth_required: false,
    root_cert: readFileSync(contractTls.caFile, 'utf8'),
  };
  const code = packed({ 'connection.json': JSON.stringify(connection) });
  return packed({ 'metadata.json': JSON.stringify({ type: 'ccaas', label: contract }), 'code.tar.gz': code });
}

/** With a constant mtime, because the hash of the package is its id. */
const packed = (files: Readonly<Record<string, string | Buffer>>): Buffer =>
  tarGz(
    Object.entries(files).map(([path, content]) => ({ path, bytes: Buffer.from(content) })),
    0,
  );
