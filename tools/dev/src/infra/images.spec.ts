import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { NODE_OPTIONS } from '@sealgate/service-host';
import { codeBlocksOf } from '../rules/markdown.ts';
import { readProjectFile, readYaml } from '../rules/project-files.ts';
import { workspaceRoot } from '../workspace.ts';
import { configuredSurfaces, type Variable } from './config-tables.ts';

interface Service {
  readonly build?: { readonly args: { readonly SURFACE: string } };
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly volumes?: readonly string[];
  readonly configs?: readonly { readonly source: string; readonly target: string }[];
  readonly profiles?: readonly string[];
}
interface Compose {
  readonly services: Readonly<Record<string, Service>>;
  readonly configs: Readonly<Record<string, { readonly file?: string; readonly content?: string }>>;
  readonly volumes: Readonly<Record<string, unknown>>;
}

const { services, configs, volumes } = readYaml('docker/compose.services.yaml') as Compose;

describe('the Dockerfile', () => {
  const dockerfile = readProjectFile('docker/Dockerfile');

  it('starts Node with the options of a service', () => {
    const [, entry = '[]'] = /^ENTRYPOINT (.*)$/m.exec(dockerfile) ?? [];
    expect(JSON.parse(entry)).toEqual(['node', ...NODE_OPTIONS]);
  });

  it('is based on the Node version of the project in both stages, unless a release sets a digest', () => {
    const wanted = `docker.io/library/node:${readProjectFile('.node-version').trim()}-slim`;
    expect([...dockerfile.matchAll(/^ARG NODE_IMAGE=(\S+)/gm)].map(([, image]) => image)).toEqual([wanted]);
    expect([...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, image]) => image)).toEqual(Array(2).fill('${NODE_IMAGE}'));
    // A digest written here would be invented or outdated.
    expect(dockerfile).not.toMatch(/@sha256:[0-9a-f]/);
    expect(dockerfile).toContain('org.opencontainers.image.base.name="${NODE_IMAGE}"');
  });

  it("keeps hadolint's rules", () => {
    const lines = dockerfile.replaceAll(/\\\n\s*/g, '').split('\n');
    const given = (name: string) => lines.filter((line) => line.startsWith(`${name} `));
    expect(lines.filter((line) => /^[a-z]+ /.test(line))).toEqual([]);
    // DL3000, DL3002, DL3006/7, DL3020, DL3025, DL4000, DL4006.
    expect(given('WORKDIR').filter((line) => !/^WORKDIR \//.test(line))).toEqual([]);
    expect(given('USER').at(-1)).toMatch(/^USER [1-9]\d*:[1-9]\d*$/);
    expect([...given('FROM'), ...given('ARG')].filter((line) => /:latest|FROM [^$:]+$/.test(line))).toEqual([]);
    expect([...given('ADD'), ...given('MAINTAINER')]).toEqual([]);
    for (const line of [...given('ENTRYPOINT'), ...given('CMD')]) expect(line).toMatch(/ \[".*"\]$/);
    expect(given('CMD')).toHaveLength(1);
    expect(given('ENTRYPOINT')).toHaveLength(1);
    expect(given('RUN').filter((line) => /\bsudo\b|\bcd \/|(?:^|\s)apt |[^|]\|[^|]/.test(line))).toEqual([]);
    // The final stage runs no command: it contains the base, our tree, and metadata of both.
    const deployed = lines.slice(lines.lastIndexOf('FROM ${NODE_IMAGE}'));
    expect(deployed.filter((line) => /^(RUN|ADD|VOLUME|ONBUILD|SHELL|HEALTHCHECK) /.test(line))).toEqual([]);
    expect(deployed.filter((line) => line.startsWith('COPY '))).toEqual(['COPY --from=build /image/ /']);
  });

  it('builds the tree with the command that the tests use', () => {
    expect(dockerfile).toContain('node tools/dev/bootstrap.mjs image "$SURFACE" /image');
    expect(readProjectFile('tools/dev/src/release/images.slow.spec.ts')).toContain(
      "'tools/dev/bootstrap.mjs'), 'image',",
    );
  });

  it('has the version of the project, and the revision of the build', () => {
    const { version } = JSON.parse(readProjectFile('package.json')) as { version: string };
    expect(dockerfile).toContain(`org.opencontainers.image.version="${version}"`);
    expect(dockerfile).toContain('org.opencontainers.image.revision="${REVISION}"');
    expect(dockerfile).not.toContain('org.opencontainers.image.licenses');
  });

  it('runs as the user that the chart requires', () => {
    const [, user] = /^USER (\d+):\d+$/m.exec(dockerfile) ?? [];
    expect(readProjectFile('infra/helm/templates/_pod.tpl')).toContain(`runAsUser: ${user}\n`);
  });
});

const hasDatabase = (variables: readonly Variable[]): boolean => variables.some(({ name }) => name === 'DATABASE_URL');

describe.each(configuredSurfaces)('the containers of $app', ({ app, variables }) => {
  const service = services[app];
  const migration = services[`${app}-migrate`];

  const isMigrated = hasDatabase(variables);

  it('are built from that surface', () => {
    expect(service?.build?.args.SURFACE).toBe(app);
    expect(migration?.build?.args.SURFACE).toBe(isMigrated ? app : undefined);
    expect(migration?.command).toEqual(isMigrated ? ['migrate.js'] : undefined);
  });

  it('set only known variables, and all required ones', () => {
    const told = Object.keys(service?.environment ?? {});
    const known = variables.map(({ name }) => name);
    expect(told.filter((name) => !known.includes(name))).toEqual([]);
    const missing = variables
      .filter(({ name, isRequired }) => isRequired && !told.includes(name))
      .map(({ name }) => name);
    expect(missing).toEqual(isMigrated ? ['MIGRATION_DATABASE_URL'] : []);
    if (!isMigrated) return;
    // Variables that decide the grants of the role are set for both.
    const shared = Object.entries(migration?.environment ?? {}).filter(([name]) => name !== 'MIGRATION_DATABASE_URL');
    expect(shared.map(([name]) => name)).toEqual(expect.arrayContaining(['DATABASE_URL', 'LEDGER_ORIGIN']));
    expect(service?.environment).toMatchObject(Object.fromEntries(shared));
  });
});

describe('the containers', () => {
  it('have the keys of the log, both servers and the integrator', () => {
    for (const { app } of configuredSurfaces.filter(({ variables }) => hasDatabase(variables)))
      expect(services[app]?.environment).toHaveProperty('LEDGER_VERIFIER_KEYS');
  });

  it('mount existing files', () => {
    const files = Object.values(services)
      .flatMap(({ volumes = [] }) => volumes)
      .filter((volume) => volume.startsWith('../'))
      .map((volume) => volume.split(':')[0] ?? '');
    expect(files.length).toBeGreaterThan(0);
    expect(files.filter((file) => !existsSync(join(workspaceRoot, 'docker', file)))).toEqual([]);
  });

  it('have exactly one integrator, and no secret in the file', () => {
    const integrators = Object.entries(services).filter(([, { environment }]) => environment?.['LEDGER_INTEGRATOR']);
    // And the job that grants its role these rights.
    expect(integrators.map(([name]) => name)).toEqual(['ledger-peer-migrate', 'ledger-peer']);
    const secrets = new Set(
      configuredSurfaces
        .flatMap(({ variables }) => variables)
        .filter(({ isSecret }) => isSecret)
        .map(({ name }) => name),
    );
    for (const { environment = {} } of Object.values(services))
      for (const [name, value] of Object.entries(environment))
        if (secrets.has(name)) expect(value).toMatch(/\$\{\w+:\?\}/);
  });
});

describe('the monitor of the public log', () => {
  const { command = [], ...monitor } = services['monitor'] ?? {};
  const options = command.filter((argument) => argument.startsWith('--'));

  it('is the hardened image of the verifier, and runs only in its profile', () => {
    expect(monitor).toMatchObject({
      build: { args: { SURFACE: 'verify' } },
      profiles: ['monitor'],
      read_only: true,
      cap_drop: ['ALL'],
    });
    expect(monitor.environment).toBeUndefined();
  });

  it('has the command line of the chart, but for one URL', () => {
    const chart = readProjectFile('infra/helm/templates/monitor.yaml')
      .replaceAll('{{ .Values.verifierKeys.key }}', 'LEDGER_VERIFIER_KEYS')
      .replaceAll('{{ $monitor.everySeconds }}', '60');
    expect(command.slice(0, 2)).toEqual(['main.js', 'monitor']);
    expect(command.slice(3)).toEqual(options);
    expect(options.map((option) => `- ${option}\n`).filter((line) => !chart.includes(line))).toEqual([]);
    expect(options.map((option) => option.split('=')[0])).toEqual(
      expect.arrayContaining(['--key', '--state', '--every', '--metrics-host', '--metrics-port']),
    );
  });

  it('reads pinned keys from a file, and keeps its state on a volume that its user can write', () => {
    const path = (name: string) => options.find((option) => option.startsWith(`--${name}=`))?.split('=')[1] ?? '';
    const [keys] = monitor.configs ?? [];
    expect(keys?.target).toBe(path('key'));
    expect(configs[keys?.source ?? '']?.file).toMatch(/^\$\{\w+:-\.\/[\w.]+\}$/);
    expect(monitor.volumes).toEqual(['monitor:/state']);
    expect(path('state')).toMatch(/^\/state\//);
    expect(volumes).toHaveProperty('monitor');
    expect(services['volumes-owner']?.volumes).toContain('monitor:/state');
  });

  it('is scraped while it runs', () => {
    expect(configs['prometheus']?.content).toMatch(
      /dns_sd_configs:\n +- \{ names: \[.*\bmonitor\b.*\], type: A, port: 8081 \}/,
    );
    expect(options).toContain('--metrics-port=8081');
  });
});

describe('the systemd units of the page for a release', () => {
  const page = readProjectFile('infra/operations/install-from-a-release.md');
  const [service = '', migration = '', peer = ''] = codeBlocksOf(page, 'ini');
  const commandsOf = (unit: string) => [...unit.matchAll(/^ExecStart=(.+)$/gm)].map(([, command]) => command);

  it('start Node with the options of the image, the peer with the heap of the chart', () => {
    const program = '/opt/sealgate/current/%i/app/main.js';
    expect(commandsOf(service)).toEqual([['/usr/bin/node', ...NODE_OPTIONS, program].join(' ')]);
    const { heapMiB } = readYaml('infra/helm/values/ledger-peer.yaml') as { heapMiB: number };
    const options = NODE_OPTIONS.map((option) =>
      option.startsWith('--max-old-space-size=') ? `--max-old-space-size=${heapMiB}` : option,
    );
    expect(commandsOf(peer)).toEqual([['/usr/bin/node', ...options, program].join(' ')]);
    expect(commandsOf(migration)).toEqual(['/usr/bin/node /opt/sealgate/current/%i/app/migrate.js']);
  });

  it.each(['service', 'migration'])('are hardened: the %s', (name) => {
    const unit = name === 'service' ? service : migration;
    for (const line of [
      'User=sealgate-%i',
      'NoNewPrivileges=true',
      'CapabilityBoundingSet=',
      'ProtectSystem=strict',
      'ProtectHome=true',
      'PrivateTmp=true',
      'EnvironmentFile=/etc/sealgate/%i.env',
    ])
      expect(unit.split('\n')).toContain(line);
    expect(unit).toMatch(/^MemoryMax=\d+M$/m);
  });

  it('keep the migration role from the service, in files that only root reads', () => {
    expect(service).not.toContain('-migration.env');
    expect(migration).toContain('\nEnvironmentFile=/etc/sealgate/%i-migration.env\n');
    for (const file of ['ledger-peer.env', 'ledger-peer-migration.env'])
      expect(page).toContain(`install -m 0600 /dev/null /etc/sealgate/${file}\n`);
  });
});
