import ts from 'typescript';
import { projectFiles, readProjectFile } from './project-files.ts';

/** A logging call in the sources. */
interface LogLine {
  readonly event: string;
  readonly levels: readonly string[];
  readonly fields: readonly string[];
  readonly file: string;
}

const LEVELS = ['error', 'warn', 'info', 'debug'];
const SOURCE = /^(apps|libs)\/(?!e2e\/|testing\/|client\/|local-services\/).*\/src\/.*\.ts$/;
const TEST = /\.(spec|fixture)\.ts$|\/testing\/|\/generated\//;

/** Calls with computed arguments: their events and fields. */
export type Spelt = Readonly<Record<string, readonly Omit<LogLine, 'file'>[]>>;

/**
 * All log lines of all services. `spelt`: by file and source text of calls that are not literal; unresolved calls are
 * faults.
 */
export function logLines(spelt: Spelt): { lines: LogLine[]; faults: string[]; used: Set<string> } {
  const [lines, faults, used]: [LogLine[], string[], Set<string>] = [[], [], new Set()];
  const takeSpelt = (file: string, text: string): void => {
    const key = `${file} ${text.replace(/\s+/g, ' ')}`;
    const found = spelt[key];
    if (found === undefined) faults.push(key);
    used.add(key);
    for (const line of found ?? []) lines.push({ ...line, file });
  };
  for (const file of projectFiles().filter((path) => SOURCE.test(path) && !TEST.test(path))) {
    const source = ts.createSourceFile(file, readProjectFile(file), ts.ScriptTarget.Latest, true);
    const visit = (node: ts.Node): void => {
      ts.forEachChild(node, visit);
      if (!ts.isCallExpression(node)) return;
      const levels = levelsOf(node.expression);
      if (levels !== undefined && isLog(node.expression)) {
        const [event, fields] = node.arguments;
        const names = fields === undefined ? [] : namesOf(fields);
        if (event === undefined || !ts.isStringLiteral(event) || names === undefined) takeSpelt(file, node.getText());
        else lines.push({ event: event.text, levels, fields: names, file });
      } else if (/(^|\.)repeat$/.test(node.expression.getText())) takeRepeated(node, file);
    };
    /** `repeat` of openSurface logs its own failures. */
    const takeRepeated = (node: ts.CallExpression, file: string): void => {
      const [about] = node.arguments;
      // `repeat` of a string takes a number.
      if (about === undefined || !ts.isObjectLiteralExpression(about)) return;
      const texts = literalsOf(about, source);
      const event = texts['failure'] ?? (texts['name'] === undefined ? undefined : `${texts['name']}_failed`);
      if (event === undefined) takeSpelt(file, node.getText());
      else lines.push({ event, levels: [texts['level'] ?? 'warn'], fields: ['reason'], file });
    };
    visit(source);
  }
  return { lines, faults, used };
}

/** Undefined if it is not a logging call. A computed level may be any. */
function levelsOf(called: ts.Expression): readonly string[] | undefined {
  if (ts.isPropertyAccessExpression(called)) return LEVELS.includes(called.name.text) ? [called.name.text] : undefined;
  return ts.isElementAccessExpression(called) ? ['error', 'warn'] : undefined;
}

function isLog(called: ts.Expression): boolean {
  const target =
    ts.isPropertyAccessExpression(called) || ts.isElementAccessExpression(called) ? called.expression : called;
  return /(^|[.#])log$/.test(target.getText());
}

/** The property names of an object literal, including spread literals. Undefined if some are computed. */
function namesOf(node: ts.Expression): string[] | undefined {
  if (ts.isParenthesizedExpression(node)) return namesOf(node.expression);
  if (ts.isConditionalExpression(node)) return joined([namesOf(node.whenTrue), namesOf(node.whenFalse)]);
  if (!ts.isObjectLiteralExpression(node)) return undefined;
  return joined(
    node.properties.map((property) =>
      ts.isSpreadAssignment(property) ? namesOf(property.expression) : [property.name?.getText() ?? ''],
    ),
  );
}

const joined = (parts: readonly (string[] | undefined)[]): string[] | undefined =>
  parts.includes(undefined) ? undefined : parts.flatMap((part) => part ?? []);

/** The properties of an object literal with string literal values, including those of spread constants. */
function literalsOf(node: ts.ObjectLiteralExpression, source: ts.SourceFile): Record<string, string> {
  const found: Record<string, string> = {};
  for (const property of node.properties) {
    if (ts.isPropertyAssignment(property) && ts.isStringLiteral(property.initializer))
      found[property.name.getText()] = property.initializer.text;
    if (ts.isSpreadAssignment(property)) {
      const spread = constantCalled(property.expression.getText(), source);
      if (spread !== undefined) Object.assign(found, literalsOf(spread, source));
    }
  }
  return found;
}

function constantCalled(name: string, source: ts.SourceFile): ts.ObjectLiteralExpression | undefined {
  let found: ts.ObjectLiteralExpression | undefined;
  const visit = (node: ts.Node): void => {
    ts.forEachChild(node, visit);
    if (!ts.isVariableDeclaration(node) || node.name.getText() !== name || node.initializer === undefined) return;
    const value = ts.isAsExpression(node.initializer) ? node.initializer.expression : node.initializer;
    if (ts.isObjectLiteralExpression(value)) found = value;
  };
  visit(source);
  return found;
}
