import { basename } from 'node:path';
import { projectFiles, readProjectFile } from '../rules/project-files.ts';
import { readYaml } from './yaml-file.ts';

/** The surfaces that have a values file. */
export const chartSurfaces = projectFiles()
  .filter((path) => path.startsWith('infra/helm/values/'))
  .map((path) => basename(path, '.yaml'));

/** Those that have a database: they are migrated, and can build the ledger's tree. */
export const migratedSurfaces = chartSurfaces.filter(
  (surface) => 'DATABASE_URL' in (readYaml(`infra/helm/values/${surface}.yaml`) as ValuesFile).secrets,
);

const NAMED = /^kind: (\w+)\nmetadata:\n\s+name: (\S*?)\{\{ include "sealgate\.(\w+)" [.$] \}\}([\w-]*)$/gm;
/** `sealgate.name`, and what is made of it, as templates/_names.tpl says. */
const PARTS: Readonly<Record<string, (release: string) => string>> = {
  name: (release) => release,
  checkpointClaim: (release) => `checkpoints-${release}-integrator-0`,
  archiveClaim: (release) => `archive-${release}`,
};

/**
 * What the chart makes where a release is called like its surface, as our pages take it to be: names by kind. Read from the
 * templates, since helm need not be there; a test with helm holds both together.
 */
export function namesOfRelease(surface: string): ReadonlyMap<string, ReadonlySet<string>> {
  const names = new Map<string, Set<string>>();
  for (const path of projectFiles().filter((file) => /^infra\/helm\/templates\/.*\.yaml$/.test(file)))
    for (const [, kind = '', before = '', part = '', after = ''] of readProjectFile(path).matchAll(NAMED))
      names.set(kind, (names.get(kind) ?? new Set()).add(`${before}${PARTS[part]?.(surface)}${after}`));
  return names;
}

interface Reference {
  readonly name?: string;
}

interface ValuesFile {
  readonly secrets: Readonly<Record<string, Reference>>;
  readonly migration: { readonly databaseUrl?: Reference };
  readonly tls: { readonly secretName: string };
  readonly integrator?: { readonly signingKey: Reference };
  readonly verifierKeys?: { readonly configMap: string };
  readonly files?: readonly { readonly secret?: string; readonly configMap?: string }[];
}

/** What has to be there before a release: the Secrets and ConfigMaps that the values files name. */
export function namesOfValues(): { readonly secrets: ReadonlySet<string>; readonly configMaps: ReadonlySet<string> } {
  const files = chartSurfaces.map((surface) => readYaml(`infra/helm/values/${surface}.yaml`) as ValuesFile);
  const secrets = files.flatMap(({ secrets: own, migration, tls, integrator, files: mounted = [] }) => [
    ...Object.values(own).map(({ name }) => name),
    migration.databaseUrl?.name,
    tls.secretName,
    integrator?.signingKey.name,
    ...mounted.map(({ secret }) => secret),
  ]);
  const configMaps = files.flatMap(({ verifierKeys, files: mounted = [] }) => [
    verifierKeys?.configMap,
    ...mounted.map(({ configMap }) => configMap),
  ]);
  const present = (names: readonly (string | undefined)[]) => new Set(names.filter((name) => name !== undefined));
  return { secrets: present(secrets), configMaps: present(configMaps) };
}
