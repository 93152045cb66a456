import { existsSync, statSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { workspaceRoot } from '../workspace.ts';
import { anchorsOf, linksOf } from './markdown.ts';
import { projectFiles, readProjectFile } from './project-files.ts';

const pages = projectFiles().filter((path) => path.endsWith('.md'));

/** What is wrong with a link of `page`; undefined if it is valid. External links are not checked. */
function faultOf(page: string, target: string): string | undefined {
  if (/^[a-z][a-z0-9+.-]*:/i.test(target)) return undefined;
  const [path = '', anchor] = target.split('#');
  const file = path === '' ? page : normalize(join(dirname(page), decodeURIComponent(path)));
  if (file.startsWith('..')) return 'points outside the project';
  const absolute = join(workspaceRoot, file);
  if (!existsSync(absolute)) return 'leads nowhere';
  if (anchor === undefined || statSync(absolute).isDirectory() || !file.endsWith('.md')) return undefined;
  return anchorsOf(readProjectFile(file)).has(anchor) ? undefined : 'names a missing heading';
}

describe('the links of the docs', () => {
  it('are valid', () => {
    const faults = pages.flatMap((page) =>
      linksOf(readProjectFile(page)).flatMap(({ target, line }) => {
        const fault = faultOf(page, target);
        return fault === undefined ? [] : [`${page}:${line} ${target} ${fault}`];
      }),
    );
    expect(faults).toEqual([]);
  });

  it('are reported if they are broken', () => {
    expect(faultOf('tools/dev/README.md', 'https://example.com/nowhere')).toBeUndefined();
    expect(faultOf('tools/dev/README.md', 'src/main.ts')).toBeUndefined();
    expect(faultOf('tools/dev/README.md', 'src/nowhere.ts')).toBe('leads nowhere');
    expect(faultOf('tools/dev/README.md', '#nowhere')).toBe('names a missing heading');
    expect(faultOf('tools/dev/README.md', '../../../x')).toBe('points outside the project');
  });
});
