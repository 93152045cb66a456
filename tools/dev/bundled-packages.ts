import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';

/** An npm package with code in a bundle. */
interface BundledPackage {
  readonly name: string;
  readonly version: string;
  /** An SPDX expression, from its package.json. */
  readonly licence: string;
  /** Its licence and notice files. Empty if it ships none. */
  readonly texts: readonly string[];
  /** Digest of the registry's tarball, from the lock file: `sha512-<base64>`. */
  readonly integrity?: string | undefined;
}

const FOLDER = /^(.*node_modules\/(?:@[^/]+\/)?[^/@][^/]*)\//;
const TEXT = /^(?:un)?licen[cs]e|^copying|^notice/i;

/** Outputs of a bundler in esbuild's metafile format: the input files of each, by their paths from the root. */
export interface PackagedOutputs {
  readonly outputs: Readonly<
    Record<string, { readonly inputs: Readonly<Record<string, { readonly bytesInOutput: number }>> }>
  >;
}

/**
 * The packages with code in the outputs, by name and version. Each copy of a package counts, and only code that was not
 * tree-shaken. @throws Error if a package has no name, version or licence.
 */
export function bundledPackages(parts: readonly PackagedOutputs[], root: string): BundledPackage[] {
  const all = parts.flatMap(({ outputs }) => Object.values(outputs));
  const folders = all.flatMap(({ inputs }) =>
    Object.entries(inputs).flatMap(([file, { bytesInOutput }]) => {
      const [, folder] = bytesInOutput > 0 ? (FOLDER.exec(file) ?? []) : [];
      return folder === undefined ? [] : [join(root, folder)];
    }),
  );
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Readonly<Record<string, { readonly integrity?: string }>>;
  };
  const found = [...new Set(folders)].map((folder) => ({
    ...packageAt(folder),
    integrity: packages[relative(root, folder).replaceAll('\\', '/')]?.integrity,
  }));
  const byKey = new Map(found.map((one) => [purlOf(one), one]));
  return [...byKey].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one);
}

function packageAt(folder: string): BundledPackage {
  const file = join(folder, 'package.json');
  if (!existsSync(file)) throw new Error(`${folder} is bundled but not a package.`);
  const { name, version, license } = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>;
  if (typeof name !== 'string' || typeof version !== 'string' || typeof license !== 'string')
    throw new Error(`${file} lacks name, version or license.`);
  const texts = readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile() && TEXT.test(entry.name))
    .map((entry) => readFileSync(join(folder, entry.name), 'utf8').trim());
  return { name, version, licence: license, texts };
}

/** Package URL: https://github.com/package-url/purl-spec */
const purlOf = ({ name, version }: BundledPackage): string => `pkg:npm/${name.replace('@', '%40')}@${version}`;

/** The licence texts that must accompany each copy. */
export function noticesOf(packages: readonly BundledPackage[]): string {
  const rule = '-'.repeat(80);
  const parts = packages.map(({ name, version, licence, texts }) => {
    const text = texts.length === 0 ? 'The package ships no text of its licence.' : texts.join('\n\n');
    return `${rule}\n${name} ${version}, ${licence}\n${rule}\n\n${text}\n`;
  });
  return ['The bundles in this folder hold code of these packages.\n', ...parts].join('\n');
}

function hashesOf({ integrity }: BundledPackage): { hashes?: object[] } {
  const [, encoded] = /^sha512-([A-Za-z0-9+/=]+)$/.exec(integrity ?? '') ?? [];
  if (encoded === undefined) return {};
  return { hashes: [{ alg: 'SHA-512', content: Buffer.from(encoded, 'base64').toString('hex') }] };
}

/** The same as a CycloneDX 1.6 SBOM: https://cyclonedx.org/docs/1.6/json/ No date: equal sources give equal files. */
export function billOfMaterials(
  surface: string,
  own: { readonly version: string; readonly license: string },
  packages: readonly BundledPackage[],
): string {
  const licences = (expression: string) => [
    /[ ()]/.test(expression) ? { expression } : { license: { id: expression } },
  ];
  const bill = {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: {
      component: { type: 'application', name: surface, version: own.version, licenses: licences(own.license) },
    },
    components: packages.map((one) => ({
      type: 'library',
      'bom-ref': purlOf(one),
      name: one.name,
      version: one.version,
      ...hashesOf(one),
      licenses: licences(one.licence),
      purl: purlOf(one),
    })),
  };
  return `${JSON.stringify(bill, null, 2)}\n`;
}
