import { readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { slugOf } from '../rules/markdown.ts';
import { projectFiles } from '../rules/project-files.ts';
import { workspaceRoot } from '../workspace.ts';

interface Item {
  readonly text: string;
  readonly link: string;
}

const titleOf = (path: string): string =>
  /^# (.+)$/m.exec(readFileSync(join(workspaceRoot, path), 'utf8'))?.[1]?.replaceAll('`', '') ?? path;

/** Path on the site: README.md is the index of its folder. */
const linkOf = (path: string): string => `/${path.replace(/README\.md$/, '').replace(/\.md$/, '')}`;

/** The pages below a folder, its README first. */
function itemsOf(...folders: readonly string[]): Item[] {
  const pages = projectFiles().filter((path) => path.endsWith('.md') && folders.some((one) => path.startsWith(one)));
  const isFirst = (path: string): number =>
    basename(path) === 'README.md' && folders.includes(`${dirname(path)}/`) ? 0 : 1;
  return pages.toSorted((a, b) => isFirst(a) - isFirst(b)).map((path) => ({ text: titleOf(path), link: linkOf(path) }));
}

const group = (text: string, items: readonly Item[], collapsed = true) => ({ text, collapsed, items });

/** The VitePress configuration for sources built by `sitePages`. Dead links fail its build. */
export const siteConfig = {
  title: 'Sealgate',
  description: 'Evidence, cases and records into a ledger that outsiders can check.',
  lang: 'en',
  cleanUrls: false,
  lastUpdated: false,
  ignoreDeadLinks: false,
  // Headings have the anchors used in the project. Text that looks like HTML, such as `<networkId>`, is text, and so is
  // `{sourceId}`, which would be attributes.
  markdown: { html: false, attrs: { disable: true }, anchor: { slugify: slugOf } },
  themeConfig: {
    search: { provider: 'local' },
    outline: { level: [2, 3] },
    nav: [
      { text: 'Guides', link: '/infra/guides/' },
      { text: 'Operations', link: '/infra/operations/' },
      { text: 'Runbooks', link: '/infra/runbooks/' },
    ],
    sidebar: [
      { text: 'Overview', link: '/' },
      group('Guides', itemsOf('infra/guides/'), false),
      group('Surfaces', itemsOf('apps/'), false),
      group('Operations', itemsOf('infra/operations/', 'infra/observability/', 'infra/helm/', 'docker/')),
      group('Runbooks', itemsOf('infra/runbooks/')),
      group('Decisions', itemsOf('infra/decisions/')),
      group('Libraries', itemsOf('libs/')),
      group('Tools', itemsOf('tools/')),
      { text: 'Changelog', link: '/CHANGELOG' },
      { text: 'Security', link: '/SECURITY' },
    ],
  },
} as const;
