import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, extname, join, normalize, posix, relative } from 'node:path';
import { projectFiles } from '../rules/project-files.ts';
import { workspaceRoot } from '../workspace.ts';

/** A source file of the site: a text, or a file of the checkout to copy. */
type SiteFile = { readonly text: string } | { readonly copyOf: string };

/** Longer files are not rendered as pages: they are copied. */
const PAGE_MAX_BYTES = 100_000;
const LANGUAGES: Readonly<Record<string, string>> = {
  '.ts': 'ts',
  '.tsx': 'tsx',
  '.mjs': 'js',
  '.json': 'json',
  '.yaml': 'yaml',
  '.sql': 'sql',
};
const PICTURES = ['.svg', '.png'];

/**
 * The sources of the site, by their paths: every Markdown file of the project, with README.md as the index of its
 * folder, and a page for each linked file or folder. Links point to these pages. @throws Error naming the page and the
 * target of a broken link.
 */
export function sitePages(): Map<string, SiteFile> {
  const site = new Map<string, SiteFile>();
  for (const path of projectFiles().filter((file) => file.endsWith('.md'))) {
    const targets: string[] = [];
    const text = pageOf(path, readFileSync(join(workspaceRoot, path), 'utf8'), (target) => targets.push(target));
    site.set(placeOf(path), { text });
    for (const target of targets) addTarget(site, target);
  }
  return site;
}

/** Path of a Markdown file on the site. */
const placeOf = (path: string): string => path.replace(/(^|\/)README\.md$/, '$1index.md');

const isFolder = (path: string): boolean => statSync(join(workspaceRoot, path)).isDirectory();
const isPage = (path: string): boolean =>
  !PICTURES.includes(extname(path)) && statSync(join(workspaceRoot, path)).size <= PAGE_MAX_BYTES;

/** Address of a file or folder of the project on the site. */
function addressOf(path: string): string {
  if (path.endsWith('.md')) return placeOf(path);
  if (isFolder(path)) return posix.join(path, 'index.md');
  return isPage(path) ? `${path}.md` : path;
}

function addTarget(site: Map<string, SiteFile>, path: string): void {
  const address = addressOf(path);
  if (path.endsWith('.md') || site.has(address)) return;
  if (isFolder(path)) {
    if (!existsSync(join(workspaceRoot, path, 'README.md'))) site.set(address, { text: folderPage(path) });
  } else if (isPage(path)) site.set(address, { text: sourcePage(path) });
  else if (PICTURES.includes(extname(path))) site.set(path, { copyOf: path });
  else site.set(`public/${path}`, { copyOf: path });
}

/** Excluded from the search index. */
const shownPage = (path: string, lines: readonly string[]): string =>
  ['---', 'search: false', 'outline: false', '---', '', `# ${path.replaceAll('_', '\\_')}`, '', ...lines, ''].join(
    '\n',
  );

function sourcePage(path: string): string {
  const text = readFileSync(join(workspaceRoot, path), 'utf8').trimEnd();
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([ticks]) => ticks.length));
  const fence = '`'.repeat(longest + 1);
  return shownPage(path, [`${fence}${LANGUAGES[extname(path)] ?? 'txt'}`, text, fence]);
}

function folderPage(path: string): string {
  const inside = projectFiles(join(workspaceRoot, path));
  return shownPage(
    path,
    inside.map((file) => {
      const name = relative(path, file);
      return file.endsWith('.md') ? `- [${name}](./${placeOf(name)})` : `- \`${name}\``;
    }),
  );
}

/** The text of a page with links rewritten for the site, and without comments, which would be visible. */
export function pageOf(page: string, text: string, onTarget: (path: string) => void): string {
  const link = (whole: string, before: string, target: string, after: string): string => {
    if (/^[a-z][a-z0-9+.-]*:|^#/i.test(target)) return whole;
    const [path = '', anchor] = target.split('#');
    const file = normalize(join(dirname(page), decodeURIComponent(path))).replace(/\/$/, '');
    if (!existsSync(join(workspaceRoot, file))) throw new Error(`${page} links to ${target}, which does not exist.`);
    onTarget(file);
    const address = relative(dirname(page), addressOf(file));
    return `${before}${address.startsWith('.') ? '' : './'}${address}${anchor === undefined ? '' : `#${anchor}`}${after}`;
  };
  return outsideOfCode(text, (prose) =>
    prose.replaceAll(/<!--.*?-->/gs, '').replaceAll(/(\]\(\s*)([^)\s]+)((?:\s+"[^"]*")?\s*\))/g, link),
  );
}

/** Transforms the text outside code fences and code spans. */
function outsideOfCode(text: string, change: (prose: string) => string): string {
  return text
    .split(/(^ *(`{3,})[^\n]*\n[\s\S]*?^ *\2`*[ \t]*$)/m)
    .filter((_part, index) => index % 3 !== 2)
    .map((part, index) =>
      index % 2 === 1
        ? part
        : part
            .split(/(`[^`\n]*`)/)
            .map((piece, place) => (place % 2 === 1 ? piece : change(piece)))
            .join(''),
    )
    .join('');
}
