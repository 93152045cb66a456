import { createHash } from 'node:crypto';
import { mkdirSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, it } from '@jest/globals';
import { until } from '@sealgate/testing';
import type { Page } from 'playwright-core';
import { openBrowser } from './open-browser.ts';
import { askedBy } from './page-looks.ts';
import { startStack, type ConsoleStack } from './start-stack.ts';

const root = resolve(import.meta.dirname, '../../../..');
/** `npm run pictures` takes those of README and guides anew. */
const isKept = process.env['UPDATE_DOCUMENTS'] === '1';
const folder = join(root, isKept ? 'infra/pictures/console' : 'tmp/pictures/documents');
const MOST_BYTES = 1.5 * 2 ** 20;
const REPORT = Buffer.from('The report of the restore test.');

interface Picture {
  readonly name: string;
  /** Who looks; nobody signs in where it is absent. */
  readonly role?: string;
  readonly path: string;
  readonly width?: number;
  readonly height?: number;
  /** What is done on the page before. */
  readonly before?: (page: Page) => Promise<void>;
}

/** Evidence whose file is known, with a proof; and the source of webhooks of the demo. */
async function prepare({ dev }: ConsoleStack): Promise<{ readonly evidence: string; readonly source: string }> {
  const post = async (key: string, url: string, body: object) => {
    const { status, json } = await askedBy(key, url, { method: 'POST', body: JSON.stringify(body) });
    if (status >= 300) throw new Error(`${url} answered ${status}: ${JSON.stringify(json)}`);
    return json as Record<string, string>;
  };
  const evidenceUrl = `${dev.surfaces['risk-partner']!.url}/api/evidence`;
  const { owner = '', admin = '' } = dev.demo.keys;
  const sha256 = createHash('sha256').update(REPORT).digest('hex');
  const made = { title: 'Restore test of the booking system', kind: 'test_result', department: 'operations', sha256 };
  const { id: evidence = '' } = await post(owner, evidenceUrl, made);
  await post(owner, `${evidenceUrl}/${evidence}/transitions`, { to: 'in_review' });
  await post(admin, `${evidenceUrl}/${evidence}/transitions`, { to: 'approved' });
  const isProved = async () => (await askedBy(owner, `${evidenceUrl}/${evidence}/proof`)).status === 200;
  await until(isProved, { what: 'the proof of evidence', timeoutMs: 60_000 });

  const sources = `/networks/${dev.demo.networkId}/sources`;
  const listed = await askedBy(dev.adminToken, `${dev.surfaces['ingest-gateway']!.adminUrl}/admin/v1${sources}`);
  const source = `${sources}/${(listed.json as { items: { sourceId: string }[] }).items[0]!.sourceId}`;
  return { evidence, source };
}

const proved = async (page: Page): Promise<void> => {
  await page.getByRole('button', { name: 'Prove this', exact: true }).first().click();
  await page.getByRole('dialog').getByText('Verified.', { exact: true }).first().waitFor();
};

async function asked(page: Page, { demo }: ConsoleStack['dev']): Promise<void> {
  await page.getByLabel('Venue').fill(demo.venueId);
  await page.getByLabel('Gate key').fill(demo.keys['gate']!);
  await page.keyboard.press('Enter');
  await page.getByLabel('Subject').fill('subj_unknown_guest');
  await page.keyboard.press('Enter');
  await page.locator('[data-verdict="deny"]').waitFor();
}

/** Opens the first record of the demo's channel. */
async function firstRecord(page: Page): Promise<void> {
  await page.getByRole('table').getByRole('link').first().click();
  await page.getByText('Verified.', { exact: true }).first().waitFor();
}

function picturesOf({ dev }: ConsoleStack, { evidence, source }: Awaited<ReturnType<typeof prepare>>): Picture[] {
  const risks = (page: string) => `/risks/${dev.demo.orgId}/${page}`;
  return [
    { name: 'home', role: 'owner', path: '/home', height: 1000 },
    { name: 'heat-map', role: 'risk_manager', path: risks('heat-map') },
    { name: 'register', role: 'auditor', path: risks('register') },
    { name: 'coverage', role: 'auditor', path: risks('coverage') },
    { name: 'prove', role: 'auditor', path: risks(`evidence/${evidence}`), height: 1000, before: proved },
    { name: 'people', role: 'owner', path: risks('people') },
    { name: 'deliveries', role: 'operator', path: `${source}/deliveries` },
    {
      name: 'record',
      role: 'operator',
      path: `/ledger/${encodeURIComponent(dev.demo.channel)}?by=ingest-gateway`,
      height: 1000,
      before: firstRecord,
    },
    { name: 'cases', role: 'reviewer', path: '/cases/live/queue' },
    { name: 'door', path: '/door', width: 390, height: 780, before: (page) => asked(page, dev) },
  ];
}

/** Returns the size of all. */
async function takeAll(stack: ConsoleStack): Promise<number> {
  const pictures = picturesOf(stack, await prepare(stack));
  mkdirSync(folder, { recursive: true });
  let bytes = 0;
  for (const { name, role, path, width = 1440, height = 900, before } of pictures) {
    const file = join(folder, `${name}.png`);
    await stack.visit(role, path, async (page) => {
      await page.emulateMedia({ colorScheme: 'light' });
      await page.setViewportSize({ width, height });
      await page.getByRole('heading').first().waitFor();
      await before?.(page);
      await page.waitForLoadState('networkidle');
      await page.screenshot({ path: file });
    });
    bytes += statSync(file).size;
  }
  return bytes;
}

it('pictures of the documents are taken of the demo, and small', async () => {
  const opened = await openBrowser();
  if ('problem' in opened) throw new Error(opened.problem);
  try {
    const stack = await startStack(opened.browser);
    const bytes = await takeAll(stack).finally(() => stack.stop());
    expect(bytes).toBeLessThanOrEqual(MOST_BYTES);
  } finally {
    await opened.browser.close();
  }
}, 600_000);
