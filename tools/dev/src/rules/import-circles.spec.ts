import { dirname, join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import ts from 'typescript';
import { projectFiles, readProjectFile } from './project-files.ts';

interface Import {
  readonly file: string;
  readonly isType: boolean;
}

/** Circles of types that are left: it may only fall. */
const MOST_OF_TYPES = 5;

const files = projectFiles().filter((path) => /\.tsx?$/.test(path));
const known = new Set(files);

/** The relative imports and re-exports of a file. Packages of the workspace form no circle: lint checks them. */
function importsOf(path: string): Import[] {
  const source = ts.createSourceFile(path, readProjectFile(path), ts.ScriptTarget.Latest);
  return source.statements.flatMap((statement) => {
    if (!ts.isImportDeclaration(statement) && !ts.isExportDeclaration(statement)) return [];
    const { moduleSpecifier } = statement;
    if (moduleSpecifier === undefined || !ts.isStringLiteral(moduleSpecifier)) return [];
    const file = join(dirname(path), moduleSpecifier.text);
    return moduleSpecifier.text.startsWith('.') && known.has(file) ? [{ file, isType: isOfTypes(statement) }] : [];
  });
}

/** Nothing of such a statement is left at run time. */
function isOfTypes(statement: ts.ImportDeclaration | ts.ExportDeclaration): boolean {
  if (ts.isExportDeclaration(statement)) return statement.isTypeOnly;
  const { importClause } = statement;
  if (importClause === undefined) return false;
  const { namedBindings } = importClause;
  const isEach =
    importClause.name === undefined && namedBindings !== undefined && ts.isNamedImports(namedBindings)
      ? namedBindings.elements.length > 0 && namedBindings.elements.every((element) => element.isTypeOnly)
      : false;
  return importClause.phaseModifier === ts.SyntaxKind.TypeKeyword || isEach;
}

/** Groups of files that import each other, by Tarjan's algorithm. */
function circlesOf(imports: ReadonlyMap<string, readonly Import[]>, counts: (one: Import) => boolean): string[] {
  const order = new Map<string, number>();
  const lowest = new Map<string, number>();
  const open: string[] = [];
  const circles: string[] = [];
  const visit = (file: string): void => {
    order.set(file, order.size);
    lowest.set(file, order.get(file)!);
    open.push(file);
    for (const { file: next } of (imports.get(file) ?? []).filter(counts)) {
      if (!order.has(next)) visit(next);
      if (open.includes(next)) lowest.set(file, Math.min(lowest.get(file)!, lowest.get(next)!));
    }
    if (lowest.get(file) !== order.get(file)) return;
    const circle = open.splice(open.indexOf(file));
    if (circle.length > 1) circles.push(circle.sort().join(', '));
  };
  for (const file of imports.keys()) if (!order.has(file)) visit(file);
  return circles;
}

describe('imports of files', () => {
  const imports = new Map(files.map((path) => [path, importsOf(path)]));

  it('form no circle at run time', () => {
    expect(circlesOf(imports, ({ isType }) => !isType)).toEqual([]);
  });

  it('form few circles, of types', () => {
    const circles = circlesOf(imports, () => true);
    expect(circles.length > MOST_OF_TYPES ? circles : []).toEqual([]);
  });
});
