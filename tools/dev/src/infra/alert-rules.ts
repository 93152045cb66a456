import { projectFiles, readYaml } from '../rules/project-files.ts';

/** A recording or alerting rule of infra/helm/files/rules. */
interface Rule {
  readonly record?: string;
  readonly alert?: string;
  readonly expr: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

interface RuleFile {
  readonly groups: readonly { readonly rules: readonly Rule[] }[];
}

const files = (folder: string): string[] => projectFiles().filter((path) => path.startsWith(`infra/${folder}/`));

export const ruleFiles = files('helm/files/rules');
export const ruleTestFiles = files('observability/tests');
export const dashboardFiles = files('helm/files/dashboards');

export const rules: readonly Rule[] = ruleFiles.flatMap((path) =>
  (readYaml(path) as RuleFile).groups.flatMap(({ rules: ofGroup }) => ofGroup),
);

/** Names in a PromQL expression, without functions, operators and durations. */
interface NamesOfPromql {
  readonly metrics: readonly string[];
  readonly labels: readonly string[];
  /** Label values that must be equal: one (`code="X"`) or one of several (`code=~"X|Y"`); no patterns. */
  readonly values: readonly string[];
}

const KEYWORDS = new Set([
  ...['and', 'or', 'unless', 'bool', 'offset', 'by', 'without', 'on', 'ignoring', 'group_left', 'group_right'],
  ...['inf', 'nan', 'atan2'],
]);

/** `by (a, b)` and similar; `group_left` may have no list. */
const LABEL_LIST = /\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)/g;
const MATCHERS = /\{([^}]*)\}/g;
const MATCHER = /([a-z_]\w*)\s*(=~|!~|!=|=)\s*"([^"]*)"/gi;

/**
 * Parses the subset of PromQL that our rules and dashboards use. Grafana's variables, like `$service`, are not values.
 */
export function namesOfPromql(expression: string): NamesOfPromql {
  const lists = [...expression.matchAll(LABEL_LIST)].flatMap(([, list = '']) =>
    list.split(',').map((label) => label.trim()),
  );
  const matchers = [...expression.matchAll(MATCHERS)].flatMap(([, inner = '']) => [...inner.matchAll(MATCHER)]);
  const bare = expression
    .replaceAll(MATCHERS, ' ')
    .replaceAll(LABEL_LIST, ' ')
    .replaceAll(/"[^"]*"/g, ' ')
    .replaceAll(/\[[^\]]*\]/g, ' ')
    .replaceAll(/\boffset\s+\w+/g, ' ');
  const identifiers = [...bare.matchAll(/(?<![\w.])([a-z_][\w:]*)\s*(\()?/gi)]
    .filter(([, name = '', call]) => call === undefined && !KEYWORDS.has(name.toLowerCase()))
    .map(([, name = '']) => name);
  const wanted = matchers.filter(([, , operator]) => operator === '=' || operator === '=~');
  return {
    metrics: distinct(identifiers),
    labels: distinct([...lists, ...matchers.map(([, label = '']) => label)].filter((label) => label !== '')),
    values: distinct(
      wanted.flatMap(([, , operator, value = '']) => (operator === '=' ? [value] : value.split('|'))),
    ).filter((value) => /^[\w.]+$/.test(value)),
  };
}

const distinct = (names: readonly string[]): string[] => [...new Set(names)].sort();
