import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { workspaceRoot } from '../workspace.ts';
import { sitePages } from './site-pages.ts';

/**
 * Builds the documentation site, static files with a search index, into `dist/site`. @throws Error for a broken link,
 * or a page that cannot be rendered.
 */
export async function buildSite(): Promise<string> {
  const outDir = join(workspaceRoot, 'dist/site');
  // Inside the checkout, so that imports of pages resolve.
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
    // Loaded on demand: it is large.
    const { build } = await import('vitepress');
    await build(sources, { outDir });
  } finally {
    rmSync(sources, { recursive: true, force: true });
  }
  return outDir;
}
