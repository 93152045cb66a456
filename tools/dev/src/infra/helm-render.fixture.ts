import type { RunCommand } from './describe-with.fixture.ts';
import { parseYaml } from '../rules/project-files.ts';

export interface Container {
  readonly args?: readonly string[];
  readonly env: readonly { readonly name: string; readonly value?: string }[];
  readonly securityContext: object;
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[];
  readonly [other: string]: unknown;
}

interface PodTemplate {
  readonly metadata: { readonly labels: Readonly<Record<string, string>> };
  readonly spec: { readonly containers: readonly [Container]; readonly [other: string]: unknown };
}

export interface Rendered {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly annotations?: Readonly<Record<string, string>> };
  readonly spec?: { readonly template?: PodTemplate; readonly [other: string]: unknown };
}

export const podsOf = (rendered: readonly Rendered[]) =>
  rendered.flatMap(({ kind, spec }) => (spec?.template === undefined ? [] : [{ kind, ...spec.template }]));

export const envOf = (rendered: readonly Rendered[], kind: string): Readonly<Record<string, string | undefined>> => {
  const pod = podsOf(rendered).find((found) => found.kind === kind);
  return Object.fromEntries((pod?.spec.containers[0].env ?? []).map(({ name, value }) => [name, value]));
};

export const named = (rendered: readonly Rendered[], kind: string): string[] =>
  rendered.filter((resource) => resource.kind === kind).map(({ metadata }) => metadata.name);

interface IngressRule {
  readonly ports: readonly { readonly port: number | string }[];
  readonly from?: readonly object[];
}

/** Ingress rules of the NetworkPolicy of a component. */
export const policyOf = (rendered: readonly Rendered[], component: string): readonly IngressRule[] => {
  const policy = rendered.find(
    ({ kind, metadata }) => kind === 'NetworkPolicy' && metadata.name.endsWith(`-${component}`),
  );
  return policy?.spec?.['ingress'] as readonly IngressRule[];
};

/** Settings of single values, as in `--set`, or of a tree as JSON. */
export const flagsOf = (settings: readonly string[]): string[] =>
  settings.flatMap((setting) => [/^\w+=[[{]|=\d+\.\d+$/.test(setting) ? '--set-json' : '--set', setting]);

export const templateOf = (helm: RunCommand, surface: string, settings: readonly string[], release = 'shop') =>
  helm([
    ...['template', release, 'infra/helm', '--kube-version', '1.31.0', '-f', `infra/helm/values/${surface}.yaml`],
    ...flagsOf(settings),
  ]);

/** Renders the chart for a release called `shop`. @throws Error with helm's output if it is rejected. */
export function renderWith(helm: RunCommand, surface: string, ...settings: string[]): Rendered[] {
  const { ok, output, errors } = templateOf(helm, surface, settings);
  if (!ok) throw new Error(errors);
  return parseYaml(output) as Rendered[];
}
