import { describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import type { ConsoleStack } from './start-stack.ts';

/** Of a page that nothing is cached of: the document, style, scripts, and answers of the console and of surfaces. */
const MAX_REQUESTS = 12;

const RISK_PAGES = ['register', 'controls', 'evidence', 'evidence/list', 'coverage', 'assets', 'policies', 'people'];
const CASE_PAGES = ['queue', 'subjects', 'venues', 'policies', 'decisions', 'keys'];
const OF_OPERATORS = [
  '/home',
  '/networks',
  '/networks/demo',
  '/events',
  '/ledger',
  '/ledger/demo.main',
  '/verify',
  '/operations',
];

interface Loaded {
  readonly requests: readonly string[];
  /** Answers of 2 KB and more that were not compressed. */
  readonly uncompressed: readonly string[];
}

const LARGE_BYTES = 2_048;

/** Loads a page anew, without the cache of the browser. */
async function load(page: Page, path: string, stack: ConsoleStack): Promise<Loaded> {
  const browser = await page.context().newCDPSession(page);
  await browser.send('Network.enable');
  await browser.send('Network.setCacheDisabled', { cacheDisabled: true });
  const requests = new Set<string>();
  const uncompressed: string[] = [];
  const answers: Promise<void>[] = [];
  const pathOf = (url: string): string => url.replace(stack.url, '');
  // On a slow machine a page asks some again in the meantime, as it does every 15 seconds.
  page.on('request', (request) => requests.add(pathOf(request.url())));
  page.on('response', (response) => {
    const judge = async (): Promise<void> => {
      const body = await response.body().catch(() => Buffer.alloc(0));
      if (body.length >= LARGE_BYTES && (await response.headerValue('content-encoding')) === null)
        uncompressed.push(pathOf(response.url()));
    };
    answers.push(judge());
  });
  await page.goto(path);
  await page.getByRole('heading', { level: 1 }).waitFor();
  await page.waitForLoadState('networkidle');
  page.removeAllListeners('request');
  page.removeAllListeners('response');
  await Promise.all(answers);
  await browser.detach();
  return { requests: [...requests], uncompressed };
}

/** How much a page asks for before it is shown. Times are not measured here. */
export function boundsStories(stack: () => ConsoleStack): void {
  const inOrganization = (name: string) => `/risks/${stack().dev.demo.orgId}/${name}`;
  const pagesOf: Readonly<Record<string, () => readonly string[]>> = {
    owner: () => ['/home', ...RISK_PAGES.map(inOrganization)],
    auditor: () => ['/home', inOrganization('audit')],
    contributor: () => ['/home'],
    viewer: () => ['/home'],
    partner_read: () => ['/home'],
    reviewer: () => ['/home'],
    author: () => ['/home'],
    operator: () => [...OF_OPERATORS, ...CASE_PAGES.map((name) => `/cases/live/${name}`)],
  };

  describe('the first request of a page', () => {
    it.each(Object.entries(pagesOf))(
      'as %s is followed by few others, and what is large is compressed',
      async (role, pages) => {
        await stack().visit(role, '/verify', async (page) => {
          for (const path of pages()) {
            const { requests, uncompressed } = await load(page, path, stack());
            process.stdout.write(`${role} ${path.replace(/org_\w+/, ':org')}: ${requests.length} requests\n`);
            expect({ path, requests: requests.slice(MAX_REQUESTS), uncompressed }).toEqual({
              path,
              requests: [],
              uncompressed: [],
            });
            expect(requests.length).toBeGreaterThanOrEqual(5);
          }
        });
      },
      180_000,
    );
  });
}
