import { describe, expect, it } from '@jest/globals';
import { projectFiles, readProjectFile } from './project-files.ts';

const { scripts }: { scripts: Record<string, string> } = JSON.parse(readProjectFile('package.json'));
const pages = projectFiles().filter((path) => path.endsWith('.md'));

/** The scripts that a page tells to run, be it in a sentence or in a block of code. */
const scriptsOf = (markdown: string): string[] =>
  [...markdown.matchAll(/\bnpm (?:run ([\w:-]+)|(start|stop|test)\b)/g)].map(([, named, own]) => named ?? own ?? '');

describe('the commands of the docs', () => {
  it('are scripts of package.json', () => {
    const missing = pages.flatMap((page) =>
      scriptsOf(readProjectFile(page))
        .filter((name) => !Object.hasOwn(scripts, name))
        .map((name) => `${page}: npm run ${name}`),
    );
    expect(missing).toEqual([]);
  });

  it('are found in sentences and in code', () => {
    expect(scriptsOf('Say `npm run bench -- --quick`, or:\n```\nnpm start\nnpm run a:b-c\n```\nnpm ci')).toEqual([
      'bench',
      'start',
      'a:b-c',
    ]);
  });
});
