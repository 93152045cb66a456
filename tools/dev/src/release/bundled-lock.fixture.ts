import { readProjectFile } from '../rules/project-files.ts';

interface Locked {
  readonly name?: string;
  readonly version?: string;
  readonly integrity?: string;
}

const { packages } = JSON.parse(readProjectFile('package-lock.json')) as { packages: Readonly<Record<string, Locked>> };
/** `node_modules/a/node_modules/@b/c` is a copy of @b/c. An alias says the name by itself. */
const nameAt = (path: string): string => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
const digests = new Map(
  Object.entries(packages).map(([path, { name, version, integrity }]) => [
    `${name ?? nameAt(path)}@${version}`,
    integrity,
  ]),
);

/** The digest of a package as the lock file has it, as CycloneDX writes it. Undefined where it is not there. */
export function bundledLock(name: string, version: string): object[] | undefined {
  const integrity = digests.get(`${name}@${version}`);
  if (integrity === undefined) return undefined;
  const [, encoded = ''] = /^sha512-(.+)$/.exec(integrity) ?? [];
  return [{ alg: 'SHA-512', content: Buffer.from(encoded, 'base64').toString('hex') }];
}
