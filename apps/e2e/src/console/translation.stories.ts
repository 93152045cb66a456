import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createSourceFile, forEachChild, isImportDeclaration, ScriptTarget, SyntaxKind, type Node } from 'typescript';
import type { ConsoleStack } from './start-stack.ts';

const WORKSPACE = resolve(import.meta.dirname, '../../../..');
const ALPHA = 0x3b1;
const TEXTS: ReadonlySet<SyntaxKind> = new Set([
  SyntaxKind.StringLiteral,
  SyntaxKind.NoSubstitutionTemplateLiteral,
  SyntaxKind.TemplateHead,
  SyntaxKind.TemplateMiddle,
  SyntaxKind.TemplateTail,
]);

/** Each text of a module in Greek letters, so that one that is not of a module can be told. */
function inGreek(source: string): string {
  const file = createSourceFile('texts.ts', source, ScriptTarget.Latest, true);
  const changes: { readonly from: number; readonly until: number }[] = [];
  const find = (node: Node): void => {
    if (isImportDeclaration(node) || node.getText() === "language = 'en'") return;
    if (TEXTS.has(node.kind)) changes.push({ from: node.getStart(), until: node.getEnd() });
    forEachChild(node, find);
  };
  find(file);
  const asGreek = (letter: string): string => String.fromCodePoint(ALPHA + (letter.charCodeAt(0) % 25));
  return changes
    .toReversed()
    .reduce(
      (text, { from, until }) =>
        `${text.slice(0, from)}${text.slice(from, until).replaceAll(/[a-z]/gi, asGreek)}${text.slice(until)}`,
      source,
    );
}

/** What is read on a page, or read out. */
const READ = `[
  document.title,
  document.body.innerText,
  ...[...document.querySelectorAll('*')].flatMap((element) =>
    ['aria-label', 'title', 'placeholder', 'alt'].map((name) => element.getAttribute(name) ?? ''),
  ),
].join('\\n')`;

/** Verify as one file needs no service, so all that is on it is of the modules of texts. */
export function translationStories(stack: () => ConsoleStack): void {
  describe('a translation of the console', () => {
    let folder: string;
    beforeAll(() => {
      mkdirSync(join(WORKSPACE, 'tmp'), { recursive: true });
      folder = mkdtempSync(join(WORKSPACE, 'tmp/translation-'));
      const web = join(folder, 'web');
      cpSync(join(WORKSPACE, 'apps/console/web'), web, { recursive: true });
      for (const file of readdirSync(web, { recursive: true, encoding: 'utf8' }))
        if (file.endsWith('texts.ts'))
          writeFileSync(join(web, file.replace(/ts$/, 'greek.ts')), inGreek(readFileSync(join(web, file), 'utf8')));
      const vite = join(WORKSPACE, 'node_modules/vite/bin/vite.js');
      const built = spawnSync(
        process.execPath,
        [vite, 'build', web, '--mode', 'greek', '--configLoader', 'native', '--logLevel', 'error'],
        { encoding: 'utf8', timeout: 120_000 },
      );
      expect([built.status, built.stderr]).toEqual([0, '']);
    }, 130_000);
    afterAll(() => rmSync(folder, { recursive: true, force: true }));

    it('leaves no text of a page in English', async () => {
      const address = pathToFileURL(join(folder, 'dist/web/verify.html')).href;
      await stack().visit(undefined, address, async (page) => {
        await page.setInputFiles('input[type=file]', [
          { name: '1', mimeType: 'application/json', buffer: Buffer.from('') },
          { name: '2', mimeType: 'application/json', buffer: Buffer.from('{}') },
        ]);
        await page.locator('[data-kind=unreadable]').nth(1).waitFor();
        expect(String(await page.evaluate(READ)).match(/[a-z]{2,}/gi) ?? []).toEqual([]);
      });
    });
  });
}
