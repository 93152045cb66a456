import { describe, expect, it } from '@jest/globals';
import { projectFiles, readProjectFile } from '../rules/project-files.ts';
import { configuredSurfaces } from './config-tables.ts';
import { readYaml } from './yaml-file.ts';

interface Values {
  readonly surface: string;
  readonly image: { readonly repository: string };
  readonly env: Readonly<Record<string, string>>;
  readonly secrets: Readonly<Record<string, object>>;
  readonly integrator?: { readonly enabled?: boolean };
  readonly [other: string]: unknown;
}

interface Schema {
  readonly properties: Readonly<Record<string, { readonly enum?: readonly string[] }>>;
  readonly definitions: Readonly<Record<string, { readonly enum: readonly string[] }>>;
}

const schema: Schema = JSON.parse(readProjectFile('infra/helm/values.schema.json'));
const defaults = readYaml('infra/helm/values.yaml') as Values;
const valuesOf = (surface: string) => readYaml(`infra/helm/values/${surface}.yaml`) as Values;
const files = projectFiles().filter((path) => path.startsWith('infra/helm/values/'));

/** By the chart's own templates; REPLICAS and its like have defaults, these two have none. */
const fromTheirOwnPlaces = ['MIGRATION_DATABASE_URL', 'LEDGER_SIGNING_KEY'];

const hasDatabase = ({ secrets }: Values): boolean => 'DATABASE_URL' in secrets;
/** What the chart sets for surfaces that have a database, and with it a ledger, limits and somebody who administers them. */
const ofDatabases = [
  'ADMIN_HOST',
  'ADMIN_PORT',
  'CHECKPOINT_DIR',
  'LEDGER_ARCHIVE_DIR',
  'LEDGER_INTEGRATOR',
  'LEDGER_VERIFIER_KEYS',
  'REPLICAS',
  'WORKERS',
];

describe.each(configuredSurfaces)('the values of $app', ({ app, variables }) => {
  const values = valuesOf(app);
  const names = variables.map(({ name }) => name);

  it('set variables that it knows, secrets as secrets and everything else as text', () => {
    const secret = variables.filter(({ isSecret }) => isSecret).map(({ name }) => name);
    expect(Object.keys(values.env).filter((name) => !names.includes(name) || secret.includes(name))).toEqual([]);
    expect(Object.keys(values.secrets).filter((name) => !secret.includes(name))).toEqual([]);
  });

  it('leave nothing unset that it cannot start without', () => {
    const set = [...Object.keys(values.env), ...Object.keys(values.secrets), ...fromTheirOwnPlaces];
    expect(variables.filter(({ name, isRequired }) => isRequired && !set.includes(name))).toEqual([]);
  });

  it('cannot hold a secret where the schema sees it', () => {
    const unguarded = variables.filter(
      ({ name, isSecret }) => isSecret && !schema.definitions['secretVariable']?.enum.includes(name),
    );
    expect(unguarded).toEqual([]);
  });

  it('meet a chart that sets only what it knows', () => {
    const ofTheChart = schema.definitions['variableOfTheChart']?.enum ?? [];
    const unset = hasDatabase(values) ? [] : ofDatabases;
    expect(
      ofTheChart.filter((name) => !name.startsWith('NODE_') && !names.includes(name) && !unset.includes(name)),
    ).toEqual([]);
    // Then the chart is told of nothing that would have it set them.
    if (!hasDatabase(values)) {
      expect(values).toMatchObject({ migration: { enabled: false } });
      for (const part of ['admin', 'integrator', 'verifierKeys', 'archive']) expect(values[part]).toBeUndefined();
    }
  });
});

describe('the values files', () => {
  it('are one for each surface that says how it is configured, and name it', () => {
    const surfaces = files.map((path) => valuesOf(path.slice('infra/helm/values/'.length, -'.yaml'.length)).surface);
    expect(files).toEqual(surfaces.map((surface) => `infra/helm/values/${surface}.yaml`));
    expect(surfaces).toEqual(schema.properties['surface']?.enum);
    expect(surfaces).toEqual(expect.arrayContaining(configuredSurfaces.map(({ app }) => app)));
  });

  it('belong to a chart of the version of the project', () => {
    const { version } = JSON.parse(readProjectFile('package.json')) as { version: string };
    expect(readYaml('infra/helm/Chart.yaml')).toMatchObject({ version, appVersion: version });
  });

  it('have one integrator among them', () => {
    const integrators = files.map((path) => readYaml(path) as Values).filter(({ integrator }) => integrator?.enabled);
    expect(integrators.map(({ surface }) => surface)).toEqual(['ledger-peer']);
    expect(defaults.integrator?.enabled).toBe(false);
  });

  it('give every surface that has a ledger the keys of the log, from one place', () => {
    for (const path of files.filter((file) => hasDatabase(readYaml(file) as Values)))
      expect(readYaml(path)).toMatchObject({ verifierKeys: { configMap: 'ledger-verifier-keys' } });
  });

  it('name nothing that the defaults do not', () => {
    const known = Object.keys(schema.properties).filter((name) => name !== 'global');
    expect(Object.keys(defaults).sort()).toEqual(known.sort());
  });
});
