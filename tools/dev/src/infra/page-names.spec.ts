import { describe, expect, it } from '@jest/globals';
import { projectFiles, readProjectFile } from '../rules/project-files.ts';
import { chartSurfaces, namesOfRelease, namesOfValues } from './chart-names.ts';

const pages = projectFiles().filter((path) =>
  /^infra\/(?:runbooks|operations)\/.*\.md$|^infra\/helm\/README\.md$/.test(path),
);

const KINDS: Readonly<Record<string, string>> = {
  deploy: 'Deployment',
  deployment: 'Deployment',
  statefulset: 'StatefulSet',
  job: 'Job',
  service: 'Service',
  pvc: 'PersistentVolumeClaim',
  networkpolicy: 'NetworkPolicy',
  secret: 'Secret',
  configmap: 'ConfigMap',
  pod: 'Pod',
};
/** Placeholders for the reader. */
const BLANK = /^<(?:surface|pod)>$/;
/** Placeholders in label selectors. */
const LABELS = ['app.kubernetes.io/name', 'app.kubernetes.io/instance', 'app.kubernetes.io/component'];

const known = new Map<string, Set<string>>();
for (const surface of [...chartSurfaces, '<surface>'])
  for (const [kind, names] of namesOfRelease(surface)) known.set(kind, new Set([...(known.get(kind) ?? []), ...names]));
known.set('Secret', new Set([...namesOfValues().secrets, '<surface>', '<surface>-migration', '<surface>-tls']));
known.set('ConfigMap', new Set(namesOfValues().configMaps));
for (const name of known.get('StatefulSet') ?? []) known.get('Pod')?.add(`${name}-0`);

/** Commands of a page that begin with one of these words, in code blocks and in code spans. */
function commandsOf(markdown: string): string[] {
  // In a loop over all of them, the surface is a variable.
  const joined = markdown.replaceAll(/\\\n\s*/g, ' ').replaceAll('$surface', '<surface>');
  return [...joined.matchAll(/(?:^\s*|`|\| |&& |\$\()((?:kubectl|helm) [^`\n|;]*)/gm)].map(
    ([, command = '']) => command,
  );
}

function faultsOf(command: string): string[] {
  const words = command.replaceAll(/["']/g, '').trim().split(/\s+/);
  return command.startsWith('helm ') ? faultsOfHelm(words) : faultsOfKubectl(words);
}

function faultsOfHelm(words: readonly string[]): string[] {
  const release = /^(?:install|upgrade|rollback|test|uninstall|history|status)$/.test(words[1] ?? '')
    ? words.slice(2).find((word) => !word.startsWith('-'))
    : undefined;
  const values = words.filter((word) => word.startsWith('infra/helm/values/'));
  return [
    ...[release].filter((name) => name !== undefined && name !== '<surface>' && !chartSurfaces.includes(name)),
    ...values.filter((path) => !/<surface>/.test(path) && !projectFiles().includes(path)),
  ].map(String);
}

function faultsOfKubectl(words: readonly string[]): string[] {
  const named = words.flatMap((word, at): [kind: string, name: string][] => {
    const [, alias = '', name = ''] = /^([a-z]+)\/(\S+)$/.exec(word) ?? [];
    if (alias in KINDS) return [[alias, name]];
    // `kubectl create secret generic NAME`
    const next = words[at + 1] === 'generic' || words[at + 1] === 'tls' ? words[at + 2] : words[at + 1];
    return word in KINDS && next !== undefined && !next.startsWith('-') ? [[word, next]] : [];
  });
  const labels = words.flatMap((word, at) => (words[at - 1] === '-l' ? word.split(',') : []));
  return [
    ...named
      .filter(([alias, name]) => !BLANK.test(name) && !(known.get(KINDS[alias] ?? '')?.has(name) ?? false))
      .map(([alias, name]) => `${alias}/${name}`),
    ...labels.filter((label) => !LABELS.includes(label.split('=')[0] ?? '')),
    ...words.filter((word) => /<release>/.test(word)),
  ];
}

describe('the pages for operators', () => {
  it.each(pages)("%s uses the names of the chart's resources", (path) => {
    const page = readProjectFile(path);
    const faults = commandsOf(page).flatMap((command) => faultsOf(command).map((fault) => `${command}: ${fault}`));
    expect(faults).toEqual([]);
    expect(page).not.toContain('<release>');
  });

  it('would be caught with an unknown name', () => {
    expect(
      commandsOf('```sh\nfor surface in a b; do\n  kubectl create secret tls "$surface-x"\ndone\n```').flatMap(
        faultsOf,
      ),
    ).toEqual(['secret/<surface>-x']);
    expect(faultsOf('kubectl scale deployment gateway --replicas 0')).toEqual(['deployment/gateway']);
    expect(faultsOf('kubectl logs job/<release>-migrate')).toEqual(['job/<release>-migrate', 'job/<release>-migrate']);
    expect(faultsOf('kubectl create secret generic gateway --from-file=x')).toEqual(['secret/gateway']);
    expect(faultsOf('kubectl get pods -l app=case-gate')).toEqual(['app=case-gate']);
    expect(faultsOf('helm rollback gateway')).toEqual(['gateway']);
    expect(faultsOf('kubectl exec statefulset/ledger-peer-integrator -- du -s /checkpoints')).toEqual([]);
    expect(faultsOf('kubectl get deployment,statefulset,pods')).toEqual([]);
    expect(faultsOf('kubectl scale deployment/case-gate deployment/ledger-peer --replicas 0')).toEqual([]);
  });

  it('are read from the templates correctly', () => {
    expect(
      Object.fromEntries([...namesOfRelease('ledger-peer')].map(([kind, names]) => [kind, [...names].sort()])),
    ).toMatchObject({
      Deployment: ['ledger-peer', 'ledger-peer-monitor'],
      Job: ['ledger-peer-migrate'],
      PersistentVolumeClaim: ['archive-ledger-peer', 'checkpoints-ledger-peer-integrator-0', 'ledger-peer-monitor'],
      Pod: ['ledger-peer-test'],
      Service: ['ledger-peer', 'ledger-peer-admin', 'ledger-peer-monitor', 'ledger-peer-ops'],
      StatefulSet: ['ledger-peer-integrator'],
    });
  });
});
