import { projectFiles } from '../rules/project-files.ts';
import { readYaml } from './yaml-file.ts';

/** A rule of infra/observability/rules: it records or it alerts. */
export interface Rule {
  readonly record?: string;
  readonly alert?: string;
  readonly expr: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

interface RuleFile {
  readonly groups: readonly { readonly rules: readonly Rule[] }[];
}

const files = (folder: string): string[] =>
  projectFiles().filter((path) => path.startsWith(`infra/observability/${folder}/`));

export const ruleFiles = files('rules');
export const ruleTestFiles = files('tests');
export const dashboardFiles = files('dashboards');

export const rules: readonly Rule[] = ruleFiles.flatMap((path) =>
  (readYaml(path) as RuleFile).groups.flatMap(({ rules: ofGroup }) => ofGroup),
);
