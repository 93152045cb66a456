import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { NODE_OPTIONS } from '@sealgate/service-host';
import { codeBlocksOf } from '../rules/markdown.ts';
import { readProjectFile } from '../rules/project-files.ts';
import { workspaceRoot } from '../workspace.ts';
import { configuredSurfaces, type Variable } from './config-tables.ts';
import { readYaml } from './yaml-file.ts';

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

  it('starts Node as a service is meant to be started', () => {
    const [, entry = '[]'] = /^ENTRYPOINT (.*)$/m.exec(dockerfile) ?? [];
    expect(JSON.parse(entry)).toEqual(['node', ...NODE_OPTIONS]);
  });

  it('stands on the Node of the project, twice, where no release names another by its digest', () => {
    const wanted = `docker.io/library/node:${readProjectFile('.node-version').trim()}-slim`;
    expect([...dockerfile.matchAll(/^ARG NODE_IMAGE=(\S+)/gm)].map(([, image]) => image)).toEqual([wanted]);
    expect([...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, image]) => image)).toEqual(Array(2).fill('${NODE_IMAGE}'));
    // A digest that stands here would be invented, or old.
    expect(dockerfile).not.toMatch(/@sha256:[0-9a-f]/);
    expect(dockerfile).toContain('org.opencontainers.image.base.name="${NODE_IMAGE}"');
  });

  it('keeps the rules that hadolint has for such a file', () => {
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
    // The stage that is deployed runs nothing: it holds the base, our tree and what describes both.
    const deployed = lines.slice(lines.lastIndexOf('FROM ${NODE_IMAGE}'));
    expect(deployed.filter((line) => /^(RUN|ADD|VOLUME|ONBUILD|SHELL|HEALTHCHECK) /.test(line))).toEqual([]);
    expect(deployed.filter((line) => line.startsWith('COPY '))).toEqual(['COPY --from=build /image/ /']);
  });

  it('makes that tree by the command that the tests make it by', () => {
    expect(dockerfile).toContain('node tools/dev/bootstrap.mjs image "$SURFACE" /image');
    expect(readProjectFile('tools/dev/src/release/images.int.spec.ts')).toContain(
      "'tools/dev/bootstrap.mjs'), 'image',",
    );
  });

  it('carries the version of the project, and a revision that the build says', () => {
    const { version } = JSON.parse(readProjectFile('package.json')) as { version: string };
    expect(dockerfile).toContain(`org.opencontainers.image.version="${version}"`);
    expect(dockerfile).toContain('org.opencontainers.image.revision="${REVISION}"');
    expect(dockerfile).not.toContain('org.opencontainers.image.licenses');
  });

  it('runs as the user that the chart asks for, and no other', () => {
    const [, user] = /^USER (\d+):\d+$/m.exec(dockerfile) ?? [];
    expect(readProjectFile('infra/helm/templates/_pod.tpl')).toContain(`runAsUser: ${user}\n`);
  });
});

const hasDatabase = (variables: readonly Variable[]): boolean => variables.some(({ name }) => name === 'DATABASE_URL');

describe.each(configuredSurfaces)('the containers of $app', ({ app, variables }) => {
  const service = services[app];
  const migration = services[`${app}-migrate`];

  const isMigrated = hasDatabase(variables);

  it('are made from that surface', () => {
    expect(service?.build?.args.SURFACE).toBe(app);
    expect(migration?.build?.args.SURFACE).toBe(isMigrated ? app : undefined);
    expect(migration?.command).toEqual(isMigrated ? ['migrate.js'] : undefined);
  });

  it('are told what it knows, and all that it cannot start without', () => {
    const told = Object.keys(service?.environment ?? {});
    const known = variables.map(({ name }) => name);
    expect(told.filter((name) => !known.includes(name))).toEqual([]);
    const missing = variables
      .filter(({ name, isRequired }) => isRequired && !told.includes(name))
      .map(({ name }) => name);
    expect(missing).toEqual(isMigrated ? ['MIGRATION_DATABASE_URL'] : []);
    if (!isMigrated) return;
    // What decides which channels its role gets is told to both.
    const shared = Object.entries(migration?.environment ?? {}).filter(([name]) => name !== 'MIGRATION_DATABASE_URL');
    expect(shared.map(([name]) => name)).toEqual(expect.arrayContaining(['DATABASE_URL', 'LEDGER_ORIGIN']));
    expect(service?.environment).toMatchObject(Object.fromEntries(shared));
  });
});

describe('the containers', () => {
  it('know the keys of the log, those that serve and the one that signs', () => {
    for (const { app } of configuredSurfaces.filter(({ variables }) => hasDatabase(variables)))
      expect(services[app]?.environment).toHaveProperty('LEDGER_VERIFIER_KEYS');
  });

  it('are given files that exist', () => {
    const files = Object.values(services)
      .flatMap(({ volumes = [] }) => volumes)
      .filter((volume) => volume.startsWith('../'))
      .map((volume) => volume.split(':')[0] ?? '');
    expect(files.length).toBeGreaterThan(0);
    expect(files.filter((file) => !existsSync(join(workspaceRoot, 'docker', file)))).toEqual([]);
  });

  it('have one integrator among them, and no secret written down', () => {
    const integrators = Object.entries(services).filter(([, { environment }]) => environment?.['LEDGER_INTEGRATOR']);
    // And the job that gives its role the right to.
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
