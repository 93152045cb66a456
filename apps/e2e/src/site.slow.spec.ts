import { execFile } from 'node:child_process';
import { createReadStream, existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, extname, join, relative, resolve } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { openBrowser } from './console/open-browser.ts';

const root = join(import.meta.dirname, '../../..');
const site = join(root, 'dist/site');
const buildTimeoutMs = 400_000;
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
};

beforeAll(async () => {
  const program = ['--disable-warning=ExperimentalWarning', 'tools/dev/src/main.ts', 'docs'];
  await promisify(execFile)(process.execPath, program, { cwd: root });
}, buildTimeoutMs);

const filesOf = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));

/** The file that a server returns for an address; undefined where there is none. */
function fileAt(path: string): string | undefined {
  const file = join(site, path.endsWith('/') ? `${path}index.html` : path);
  return existsSync(file) && statSync(file).isFile() ? file : undefined;
}

const textOf = new Map<string, string>();
const read = (file: string): string => {
  const text = textOf.get(file) ?? readFileSync(file, 'utf8');
  textOf.set(file, text);
  return text;
};

/** The fault of a link of a page; undefined where its target exists or is another site. */
function faultOf(page: string, href: string): string | undefined {
  if (/^[a-z][a-z0-9+.-]*:|^\/\//i.test(href)) return undefined;
  const [path = '', anchor] = href.replaceAll('&amp;', '&').split('#');
  const from = `/${relative(site, page)}`;
  const absolute = path === '' ? from : resolve(dirname(from), path) + (path.endsWith('/') && path !== '/' ? '/' : '');
  const file = fileAt(absolute === '/' ? '/' : decodeURIComponent(absolute));
  if (file === undefined) return 'leads nowhere';
  if (anchor === undefined || anchor === '' || extname(file) !== '.html') return undefined;
  return read(file).includes(`id="${decodeURIComponent(anchor)}"`) ? undefined : 'names a heading that is not there';
}

/** Serves the site at the root of a host, as any file server does. */
async function serve(): Promise<Server> {
  const server = createServer((request, response) => {
    const file = fileAt(new URL(request.url ?? '/', 'http://localhost').pathname);
    if (file === undefined) return void response.writeHead(404).end();
    response.setHeader('content-type', TYPES[extname(file)] ?? 'application/octet-stream');
    return void createReadStream(file).pipe(response);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return server;
}

describe('the site of the documentation', () => {
  it('has no broken link or picture, source files and folders included', () => {
    const pages = filesOf(site).filter((file) => file.endsWith('.html') && !file.endsWith('/404.html'));
    expect(pages.length).toBeGreaterThan(90);
    const faults = pages.flatMap((page) =>
      [...read(page).matchAll(/<(?:a|img) [^>]*?(?:href|src)="([^"]*)"/g)].flatMap(([, href = '']) => {
        const fault = faultOf(page, href);
        return fault === undefined ? [] : [`${relative(site, page)}: ${href} ${fault}`];
      }),
    );
    expect(faults).toEqual([]);
    expect(faultOf(join(site, 'index.html'), './nowhere.html')).toBe('leads nowhere');
    expect(faultOf(join(site, 'index.html'), '/infra/guides/#nowhere')).toBe('names a heading that is not there');
  });

  it('contains every page of the project once, under its title', () => {
    const listed = promisify(execFile)('git', ['ls-files', '*.md'], { cwd: root });
    return listed.then(({ stdout }) => {
      const missing = stdout
        .trim()
        .split('\n')
        .filter(
          (path) => fileAt(`/${path.replace(/README\.md$/, 'index.html').replace(/\.md$/, '.html')}`) === undefined,
        );
      expect(missing).toEqual([]);
    });
  });

  it('finds words in a browser, and shows the picture, and text that looks like HTML or attributes as text', async () => {
    const opened = await openBrowser();
    if ('problem' in opened) {
      if (process.env['CI'] === 'true') throw new Error(opened.problem);
      process.stderr.write(`SKIPPED: the search of the site. ${opened.problem}\n`);
      return;
    }
    const server = await serve();
    try {
      const page = await opened.browser.newPage();
      page.setDefaultTimeout(30_000);
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      await page.goto(url);
      await page.waitForFunction('document.querySelector("main img")?.naturalWidth > 0');
      expect(await page.locator('main').textContent()).toContain('<networkId>.<name>');
      await page.goto(`${url}/apps/ingest-gateway/`);
      expect(await page.locator('main').textContent()).toContain('POST /hooks/{sourceId}');
      await page.locator('.VPNavBarSearch button').first().click();
      await page.locator('.VPLocalSearchBox input').fill('failure_mode_allow');
      const found = page.locator('.VPLocalSearchBox a.result').first();
      await found.waitFor();
      expect(await found.getAttribute('href')).toContain('/infra/guides/keep-a-door.html');
    } finally {
      await opened.browser.close();
      server.close();
    }
  }, 120_000);
});
