import { basename } from 'node:path';
import { projectFiles, readProjectFile, readYaml } from '../rules/project-files.ts';

/** The surfaces with a values file. */
export const chartSurfaces = projectFiles()
  .filter((path) => path.startsWith('infra/helm/values/'))
  .map((path) => basename(path, '.yaml'));

/** The surfaces with a database: they have migrations, and can be the integrator. */
export const migratedSurfaces = chartSurfaces.filter(
  (surface) => 'DATABASE_URL' in (readYaml(`infra/helm/values/${surface}.yaml`) as ValuesFile).secrets,
);

const NAMED = /^kind: (\w+)\nmetadata:\n\s+name: (\S*?)\{\{ include "sealgate\.(\w+)" [.$] \}\}([\w-]*)$/gm;
/** Values of `sealgate.name` and derived names, as in templates/_names.tpl. */
const PARTS: Readonly<Record<string, (release: string) => string>> = {
  name: (release) => release,
  serviceAccount: (release) => release,
  checkpointClaim: (release) => `checkpoints-${release}-integrator-0`,
  archiveClaim: (release) => `archive-${release}`,
};

/**
 * Names of the chart's resources by kind, for a release named like its surface, as the operators' pages assume. Read
 * from the templates, because helm may not be installed; a test with helm compares them.
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

/** The Secrets and ConfigMaps that must exist before a release: those named in the values files. */
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
