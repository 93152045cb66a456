import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import ts from 'typescript';
import { workspaceRoot } from '../workspace.ts';
import { codeBlocksOf } from './markdown.ts';
import { projectFiles, readProjectFile } from './project-files.ts';

const libs = projectFiles()
  .filter((path) => /^libs\/.*\/package\.json$|^libs\/[^/]+\/package\.json$/.test(path))
  .map((path) => dirname(path));

/** The examples as files in their lib, so that their imports resolve there; by path. */
const examples = new Map(
  libs
    .filter((lib) => existsSync(join(workspaceRoot, lib, 'README.md')))
    .flatMap((lib) =>
      codeBlocksOf(readProjectFile(`${lib}/README.md`), 'ts').map(
        (code, index) => [join(workspaceRoot, lib, `README.example-${index + 1}.ts`), code] as const,
      ),
    ),
);

function faultsOfExamples(files: ReadonlyMap<string, string>): string[] {
  const configFile = join(workspaceRoot, 'tsconfig.base.json');
  const { config } = ts.readConfigFile(configFile, ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent({ ...config, files: [] }, ts.sys, workspaceRoot);
  const host = ts.createCompilerHost(options);
  const { fileExists, readFile } = host;
  host.fileExists = (path) => files.has(path) || fileExists(path);
  host.readFile = (path) => files.get(path) ?? readFile(path);
  const program = ts.createProgram([...files.keys()], options, host);
  return [...files.keys()].flatMap((path) => {
    const source = program.getSourceFile(path);
    return [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)].map(
      ({ messageText }) => `${path}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`,
    );
  });
}

describe('the README of every lib', () => {
  it.each(libs)('%s has one, of one screen, with one example', (lib) => {
    const readme = existsSync(join(workspaceRoot, lib, 'README.md')) ? readProjectFile(`${lib}/README.md`) : '';
    expect(readme.split('\n')[0]).toMatch(/^# \S/);
    expect(readme.split('\n').length).toBeLessThanOrEqual(90);
    expect(codeBlocksOf(readme, 'ts').length).toBeGreaterThanOrEqual(1);
  });

  it('has examples that compile', () => {
    expect(faultsOfExamples(examples)).toEqual([]);
  }, 120_000);

  it('would be caught with one that does not compile', () => {
    const wrong = new Map([
      [join(workspaceRoot, 'libs/testing/README.example-0.ts'), 'export const seven: number = "7";\n'],
    ]);
    expect(faultsOfExamples(wrong)).toEqual([
      expect.stringContaining("Type 'string' is not assignable to type 'number'"),
    ]);
  }, 120_000);
});
