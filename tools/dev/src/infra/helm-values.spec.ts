import { describe, expect, it } from '@jest/globals';
import { projectFiles, readProjectFile, readYaml } from '../rules/project-files.ts';
import { configuredSurfaces } from './config-tables.ts';

interface Values {
  readonly surface: string;
  readonly image: { readonly repository: string };
  readonly env: Readonly<Record<string, string>>;
  readonly secrets: Readonly<Record<string, object>>;
  readonly integrator?: { readonly enabled?: boolean };
  readonly [other: string]: unknown;
}

const schema: {
  readonly properties: Readonly<Record<string, { readonly enum?: readonly string[] }>>;
  readonly definitions: Readonly<Record<string, { readonly enum: readonly string[] }>>;
} = JSON.parse(readProjectFile('infra/helm/values.schema.json'));
const defaults = readYaml('infra/helm/values.yaml') as Values;
const valuesOf = (surface: string) => readYaml(`infra/helm/values/${surface}.yaml`) as Values;
const files = projectFiles().filter((path) => path.startsWith('infra/helm/values/'));

/** Set by the chart's templates without a default there; REPLICAS and similar have defaults. */
const fromTheirOwnPlaces = ['MIGRATION_DATABASE_URL', 'LEDGER_SIGNING_KEY'];

const hasDatabase = ({ secrets }: Values): boolean => 'DATABASE_URL' in secrets;
/** Set by the chart for surfaces with a database, which have a ledger, limits and administrators. */
const ofDatabases = [
  'ADMIN_HOST',
  'ADMIN_PORT',
  'CHECKPOINT_DIR',
  'LEDGER_ARCHIVE_DIR',
  'LEDGER_INTEGRATOR',
  'LEDGER_VERIFIER_KEYS',
  'REPLICAS',
];

describe.each(configuredSurfaces)('the values of $app', ({ app, variables }) => {
  const values = valuesOf(app);
  const names = variables.map(({ name }) => name);

  it('set known variables, secrets as secrets and everything else as text', () => {
    const secret = variables.filter(({ isSecret }) => isSecret).map(({ name }) => name);
    expect(Object.keys(values.env).filter((name) => !names.includes(name) || secret.includes(name))).toEqual([]);
    expect(Object.keys(values.secrets).filter((name) => !secret.includes(name))).toEqual([]);
  });

  it('set all required variables', () => {
    const set = [...Object.keys(values.env), ...Object.keys(values.secrets), ...fromTheirOwnPlaces];
    expect(variables.filter(({ name, isRequired }) => isRequired && !set.includes(name))).toEqual([]);
  });

  it('cannot hold a secret as text', () => {
    const unguarded = variables.filter(
      ({ name, isSecret }) => isSecret && !schema.definitions['secretVariable']?.enum.includes(name),
    );
    expect(unguarded).toEqual([]);
  });

  it('are used by a chart that sets only known variables', () => {
    const ofTheChart = schema.definitions['variableOfTheChart']?.enum ?? [];
    const unset = hasDatabase(values) ? [] : ofDatabases;
    expect(
      ofTheChart.filter((name) => !name.startsWith('NODE_') && !names.includes(name) && !unset.includes(name)),
    ).toEqual([]);
    // With values that keep the chart from setting them.
    if (!hasDatabase(values)) {
      expect(values).toMatchObject({ migration: { enabled: false } });
      for (const part of ['admin', 'integrator', 'verifierKeys', 'archive']) expect(values[part]).toBeUndefined();
    }
  });
});

describe('the values files', () => {
  it('exist for each surface with a configuration table, and name it', () => {
    const surfaces = files.map((path) => valuesOf(path.slice('infra/helm/values/'.length, -'.yaml'.length)).surface);
    expect(files).toEqual(surfaces.map((surface) => `infra/helm/values/${surface}.yaml`));
    expect([...surfaces, '']).toEqual(schema.properties['surface']?.enum);
    expect(surfaces).toEqual(expect.arrayContaining(configuredSurfaces.map(({ app }) => app)));
  });

  it('belong to a chart with the version of the project', () => {
    const { version } = JSON.parse(readProjectFile('package.json')) as { version: string };
    expect(readYaml('infra/helm/Chart.yaml')).toMatchObject({ version, appVersion: version });
  });

  it('have exactly one integrator', () => {
    const integrators = files.map((path) => readYaml(path) as Values).filter(({ integrator }) => integrator?.enabled);
    expect(integrators.map(({ surface }) => surface)).toEqual(['ledger-peer']);
    expect(defaults.integrator?.enabled).toBe(false);
  });

  it('give every surface with a ledger the keys of the log, from one place', () => {
    for (const path of files.filter((file) => hasDatabase(readYaml(file) as Values)))
      expect(readYaml(path)).toMatchObject({ verifierKeys: { configMap: 'ledger-verifier-keys' } });
  });

  it('have only values that exist in the defaults', () => {
    const known = Object.keys(schema.properties).filter((name) => name !== 'global');
    expect(Object.keys(defaults).sort()).toEqual(known.sort());
  });
});
