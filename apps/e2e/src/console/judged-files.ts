import type { Vector } from '@sealgate/verify/vectors';
import type { Page } from 'playwright-core';

/** The fields for keys, in the order of the page. */
export const FIELDS = {
  logKeys: 'Key of the log',
  policy: 'Policy (tlog-policy)',
  jwks: 'Key set',
  signature: 'Signature: Evidence-Signature',
  senderKeys: 'Public keys of senders',
} as const;

/** An input, and the verdict that the page must show. */
export type Dropped = Pick<Vector, 'title' | 'files' | 'pins' | 'failed'> & { readonly kind: string };

/** Removes what a file before left, pins keys, drops files and returns the verdict in the card of this kind. */
export async function judged(page: Page, { files, pins, kind }: Dropped): Promise<string> {
  const field = page.locator('input[type=file]');
  await field.setInputFiles([]);
  await page.locator('[data-kind]').first().waitFor({ state: 'detached' });
  const before = await page.evaluate<string[]>(
    'Array.from(document.querySelectorAll("textarea"), ({ value }) => value)',
  );
  for (const [index, [name, label]] of Object.entries(FIELDS).entries()) {
    const text = pins[name as keyof typeof FIELDS] ?? '';
    if (before[index] !== text) await page.getByLabel(label, { exact: false }).fill(text);
  }
  const chosen = Object.entries(files).map(([name, text]) => ({ name, mimeType: '', buffer: Buffer.from(text) }));
  await field.setInputFiles(chosen);
  return (await page.locator(`[data-kind="${kind}"] [role=status]`).first().textContent()) ?? '';
}

/** Returns the actual and the expected verdicts. */
export async function saidOf(page: Page, dropped: readonly Dropped[]) {
  const said: [string, string][] = [];
  const meant: [string, string][] = [];
  for (const { title, failed, ...one } of dropped) {
    const verdict = await judged(page, { title, failed, ...one });
    said.push([title, /Failed: .*\./.exec(verdict)?.[0] ?? verdict.slice(0, 'Verified.'.length)]);
    meant.push([title, failed.length === 0 ? 'Verified.' : `Failed: ${failed.join(', ')}.`]);
  }
  return { said, meant };
}
