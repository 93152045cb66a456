import ts from 'typescript';
import { projectFiles, readProjectFile } from '../rules/project-files.ts';

/** Metrics declared in the sources. */
interface DeclaredMetrics {
  /** Labels by metric name. */
  readonly labels: ReadonlyMap<string, readonly string[]>;
  /** All possible label values: the string literals of the sources. */
  readonly texts: ReadonlySet<string>;
}

const SOURCE = /^(?:(?:apps|libs)\/(?!e2e\/).*|tools\/verify)\/src\/.*(?<!\.(?:spec|fixture|contract))\.ts$/;
const DECLARES =
  /\bgauge\(\s*\{|\bmetrics\s*\.(?:counter|gauge|histogram|observedCounter|observedGauge)\(|\.(?:counter|histogram)\(\{/;
const METRIC_NAME = /^[a-z][a-z0-9]*(?:_[a-z0-9]+)+$/;

/**
 * Finds the metrics of all surfaces in their sources, because no process has them all: a Fabric driver's metrics are
 * absent with the embedded ledger. A declaration is an object with `name` and `help`, with the keys of its `labels`;
 * or, without labels, the first of two strings in a call of a local function.
 */
export function declaredMetrics(): DeclaredMetrics {
  const labels = new Map<string, readonly string[]>();
  const texts = new Set<string>();
  for (const path of projectFiles().filter((file) => SOURCE.test(file))) {
    const text = readProjectFile(path);
    for (const [, literal = ''] of text.matchAll(/'([^'\n\\]*)'/g)) texts.add(literal);
    if (!DECLARES.test(text)) continue;
    visit(ts.createSourceFile(path, text, ts.ScriptTarget.ESNext), (node) => {
      const found = declaredBy(node);
      if (found !== undefined) labels.set(found.name, found.labels);
    });
  }
  return { labels, texts };
}

function visit(node: ts.Node, look: (node: ts.Node) => void): void {
  look(node);
  ts.forEachChild(node, (child) => visit(child, look));
}

function declaredBy(node: ts.Node): { name: string; labels: string[] } | undefined {
  if (ts.isObjectLiteralExpression(node)) {
    const name = memberOf(node, 'name');
    if (name === undefined || !ts.isStringLiteral(name) || !keysOf(node).includes('help')) return undefined;
    const labels = memberOf(node, 'labels');
    return {
      name: name.text,
      labels: labels !== undefined && ts.isObjectLiteralExpression(labels) ? keysOf(labels) : [],
    };
  }
  if (ts.isCallExpression(node)) {
    const [name, help] = node.arguments;
    const isPair = name !== undefined && help !== undefined && ts.isStringLiteral(name) && ts.isStringLiteral(help);
    if (isPair && METRIC_NAME.test(name.text)) return { name: name.text, labels: [] };
  }
  return undefined;
}

const memberOf = (object: ts.ObjectLiteralExpression, name: string): ts.Expression | undefined =>
  object.properties.filter(ts.isPropertyAssignment).find((member) => nameOf(member) === name)?.initializer;

const keysOf = (object: ts.ObjectLiteralExpression): string[] =>
  object.properties.flatMap((member) => {
    const name = nameOf(member);
    return name === undefined ? [] : [name];
  });

const nameOf = ({ name }: ts.ObjectLiteralElementLike): string | undefined =>
  name !== undefined && (ts.isIdentifier(name) || ts.isStringLiteral(name)) ? name.text : undefined;
