import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { workspaceRoot } from '../workspace.ts';

const web = join(workspaceRoot, 'apps/console/web');
const core = join(workspaceRoot, 'node_modules/@mantine/core');
const sources = readdirSync(web, { recursive: true, encoding: 'utf8' })
  // A translation chooses among its plurals itself.
  .filter((file) => /(?<!\.spec|texts\.\w+)\.tsx?$/.test(file))
  .map((file) => ({ file, text: readFileSync(join(web, file), 'utf8') }));

/** By its first class, which is a hash. */
const placeOf = (style: string): number => {
  const [hash = ''] = /\.m_[0-9a-f]+/.exec(readFileSync(join(core, 'styles', `${style}.css`), 'utf8')) ?? [];
  return readFileSync(join(core, 'styles.css'), 'utf8').indexOf(hash);
};

/** The styles of a module and of all that it imports. */
function addStyles(file: string, found: Set<string>, seen: Set<string>): void {
  if (seen.has(file)) return;
  seen.add(file);
  if (file.endsWith('.module.mjs')) found.add(basename(file, '.module.mjs'));
  for (const [, next = ''] of readFileSync(file, 'utf8').matchAll(/from "(\.[^"]+)"/g))
    addStyles(join(dirname(file), next), found, seen);
}

describe('the pages of the console', () => {
  it('have the styles of the components that they use, and no others, in their order', () => {
    const modules = new Map(
      [...readFileSync(join(core, 'esm/index.mjs'), 'utf8').matchAll(/import \{([^}]+)\} from "([^"]+)"/g)].flatMap(
        ([, names = '', file = '']) => names.split(',').map((name) => [name.trim(), file] as const),
      ),
    );
    const used = sources
      .flatMap(({ text }) => [...text.matchAll(/\{([^}]+)\} from '@mantine\/core'/g)])
      .flatMap(([, names = '']) => names.split(',').map((name) => name.trim()))
      .filter((name) => modules.has(name));
    const styles = new Set<string>();
    const seen = new Set<string>();
    for (const name of new Set(used)) addStyles(join(core, 'esm', modules.get(name)!), styles, seen);
    const listed = [...readFileSync(join(web, 'shell/mantine.css'), 'utf8').matchAll(/styles\/([\w-]+)\.css/g)].map(
      ([, style]) => style,
    );
    const ordered = [...styles].toSorted((one, other) => placeOf(one) - placeOf(other));
    expect(listed).toEqual(['baseline', 'default-css-variables', 'global', ...ordered]);
  });

  it('format times and numbers, and order texts, in one place, in the language of the page', () => {
    const others = sources.filter(
      ({ file, text }) => file !== join('shell', 'formats.ts') && /\.toLocale|\bIntl\.|localeCompare/.test(text),
    );
    expect(others.map(({ file }) => file)).toEqual([]);
    expect(readFileSync(join(web, 'index.html'), 'utf8')).toContain('<html lang="en">');
  });
});
