import { dirname, join } from 'node:path';
import { expect, it } from '@jest/globals';
import ts from 'typescript';
import { projectFiles, readProjectFile } from './project-files.ts';

const files = projectFiles().filter((path) => /\.tsx?$/.test(path));
const known = new Set(files);

/** The relative imports and re-exports of a file. Packages of the workspace form no circle: lint checks them. */
function importsOf(path: string): string[] {
  const source = ts.createSourceFile(path, readProjectFile(path), ts.ScriptTarget.Latest);
  return source.statements.flatMap((statement) => {
    if (!ts.isImportDeclaration(statement) && !ts.isExportDeclaration(statement)) return [];
    const { moduleSpecifier } = statement;
    if (moduleSpecifier === undefined || !ts.isStringLiteral(moduleSpecifier)) return [];
    const file = join(dirname(path), moduleSpecifier.text);
    return moduleSpecifier.text.startsWith('.') && known.has(file) ? [file] : [];
  });
}

/** Groups of files that import each other, by Tarjan's algorithm. */
function circlesOf(imports: ReadonlyMap<string, readonly string[]>): string[] {
  const order = new Map<string, number>();
  const lowest = new Map<string, number>();
  const open: string[] = [];
  const circles: string[] = [];
  const visit = (file: string): void => {
    order.set(file, order.size);
    lowest.set(file, order.get(file)!);
    open.push(file);
    for (const next of imports.get(file) ?? []) {
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

it('imports of files form no circle, not even of types', () => {
  expect(circlesOf(new Map(files.map((path) => [path, importsOf(path)])))).toEqual([]);
});
