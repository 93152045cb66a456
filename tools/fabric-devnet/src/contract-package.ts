import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { ContractName, NetworkPlan, OrganizationName } from './network-plan.ts';

interface ContractPackage {
  readonly file: string;
  /** Package id of the lifecycle: the label, a colon and the SHA-256 of the file in lower-case hex. */
  readonly id: string;
}

/**
 * The package that tells a peer the address of its organisation's contract process. Created once and then reused,
 * because its hash is its id. It does not contain the program: a changed program needs a restart, not a new package.
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

/** A gzipped tar of metadata.json and code.tar.gz; the latter contains the input of the external builder. */
function packageBytes(plan: NetworkPlan, contract: ContractName, organization: OrganizationName): Buffer {
  const { contractPorts, contractTls } = plan.organizations.find(({ name }) => name === organization)!;
  const connection = {
    address: `127.0.0.1:${contractPorts[contract]}`,
    dial_timeout: '5s',
    tls_required: true,
    // A contract process holds no state: it can only read what the calling peer lets it read.
    client_auth_required: false,
    root_cert: readFileSync(contractTls.caFile, 'utf8'),
  };
  const code = gzipSync(tarOf({ 'connection.json': JSON.stringify(connection) }));
  return gzipSync(tarOf({ 'metadata.json': JSON.stringify({ type: 'ccaas', label: contract }), 'code.tar.gz': code }));
}

const blockBytes = 512;

/** A POSIX.1-1988 ustar archive of small regular files; equal files give equal bytes. Names are at most 100 bytes. */
export function tarOf(files: Readonly<Record<string, string | Buffer>>): Buffer {
  const entries = Object.entries(files).flatMap(([name, content]) => {
    const bytes = Buffer.from(content);
    return [headerOf(name, bytes.length), bytes, Buffer.alloc(-bytes.length & (blockBytes - 1))];
  });
  return Buffer.concat([...entries, Buffer.alloc(2 * blockBytes)]);
}

function headerOf(name: string, size: number): Buffer {
  if (Buffer.byteLength(name) > 100) throw new RangeError(`${name} is too long for a tar header.`);
  const header = Buffer.alloc(blockBytes);
  const octal = (value: number, width: number): string => `${value.toString(8).padStart(width - 1, '0')}\0`;
  header.write(name, 0);
  header.write(octal(0o644, 8), 100); // mode
  header.write(octal(0, 8), 108); // owner
  header.write(octal(0, 8), 116); // group
  header.write(octal(size, 12), 124);
  header.write(octal(0, 12), 136); // mtime: constant, so that equal content has the same hash
  header.write(' '.repeat(8), 148); // the checksum field counts as spaces
  header.write('0', 156); // a regular file
  header.write('ustar\x0000', 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return header;
}
