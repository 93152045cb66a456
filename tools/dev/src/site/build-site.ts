import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { workspaceRoot } from '../workspace.ts';
import { sitePages } from './site-pages.ts';

/**
 * Makes the site of the documentation, static files with a search index, in `dist/site`. Throws Error where a link
 * leads nowhere, or a page cannot be shown.
 */
export async function buildSite(): Promise<string> {
  const outDir = join(workspaceRoot, 'dist/site');
  // Within the checkout, so that what pages import is found.
  const sources = join(workspaceRoot, `tmp/site-${process.pid}`);
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(join(sources, path)), { recursive: true });
    writeFileSync(join(sources, path), text);
  };
  try {
    for (const [path, file] of sitePages()) {
      if ('text' in file) write(path, file.text);
      else cpSync(join(workspaceRoot, file.copyOf), join(sources, path));
    }
    const config = pathToFileURL(join(import.meta.dirname, 'site-config.ts')).href;
    write(
      '.vitepress/config.mjs',
      `const { siteConfig } = await import(${JSON.stringify(config)});\nexport default siteConfig;\n`,
    );
    rmSync(outDir, { recursive: true, force: true });
    // It is large, and nothing else of this program needs it.
    const { build } = await import('vitepress');
    await build(sources, { outDir });
  } finally {
    rmSync(sources, { recursive: true, force: true });
  }
  return outDir;
}
