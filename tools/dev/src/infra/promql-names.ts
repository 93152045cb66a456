/** What an expression of PromQL names; functions, operators and durations left out. */
export interface NamesOfPromql {
  readonly metrics: readonly string[];
  readonly labels: readonly string[];
  /** Values that a label must equal, one (`code="X"`) or one of several (`code=~"X|Y"`); no patterns. */
  readonly values: readonly string[];
}

const KEYWORDS = new Set([
  ...['and', 'or', 'unless', 'bool', 'offset', 'by', 'without', 'on', 'ignoring', 'group_left', 'group_right'],
  ...['inf', 'nan', 'atan2'],
]);

/** `by (a, b)` and its like; `group_left` may come without a list. */
const LABEL_LIST = /\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)/g;
const MATCHERS = /\{([^}]*)\}/g;
const MATCHER = /([a-z_]\w*)\s*(=~|!~|!=|=)\s*"([^"]*)"/gi;

/** Reads what our rules and dashboards use of PromQL. `$service` and its like, the variables of Grafana, are no values. */
export function namesOfPromql(expression: string): NamesOfPromql {
  const lists = [...expression.matchAll(LABEL_LIST)].flatMap(([, list = '']) =>
    list.split(',').map((label) => label.trim()),
  );
  const matchers = [...expression.matchAll(MATCHERS)].flatMap(([, inner = '']) => [...inner.matchAll(MATCHER)]);
  const bare = expression
    .replaceAll(MATCHERS, ' ')
    .replaceAll(LABEL_LIST, ' ')
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
