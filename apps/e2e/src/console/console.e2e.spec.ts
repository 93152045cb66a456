import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { boundsStories } from './bounds.stories.ts';
import { casesStories } from './cases.stories.ts';
import { doorStories } from './door.stories.ts';
import { fabricStories } from './fabric.stories.ts';
import { findStories } from './find.stories.ts';
import { firefoxStories } from './firefox.stories.ts';
import { forwardingStories } from './forwarding.stories.ts';
import { homeStories } from './home.stories.ts';
import { keyboardStories } from './keyboard.stories.ts';
import { ledgerStories } from './ledger.stories.ts';
import { listsStories } from './lists.stories.ts';
import { logStories } from './log.stories.ts';
import { mendStories } from './mend.stories.ts';
import { openBrowser } from './open-browser.ts';
import { looksOf } from './page-looks.ts';
import { operationsStories } from './operations.stories.ts';
import { partsStories } from './parts.stories.ts';
import { peopleStories } from './people.stories.ts';
import { proveStories } from './prove.stories.ts';
import { refusalStories } from './refusals.stories.ts';
import { reviewerStories } from './reviewer.stories.ts';
import { risksStories } from './risks.stories.ts';
import { signInStories } from './sign-in.stories.ts';
import { sourcesStories } from './sources.stories.ts';
import { startStack, type ConsoleStack } from './start-stack.ts';
import { subscriptionsStories } from './subscriptions.stories.ts';
import { translationStories } from './translation.stories.ts';
import { unusualStories } from './unusual.stories.ts';
import { verifyStories } from './verify.stories.ts';
import { worseStories } from './worse.stories.ts';

const name = 'the console in a real browser';

/** They share one stack of `npm start`. Those of unusual data come last. */
const STORIES = [
  partsStories,
  homeStories,
  boundsStories,
  signInStories,
  ledgerStories,
  fabricStories,
  verifyStories,
  translationStories,
  logStories,
  proveStories,
  worseStories,
  risksStories,
  casesStories,
  reviewerStories,
  operationsStories,
  subscriptionsStories,
  listsStories,
  peopleStories,
  findStories,
  doorStories,
  firefoxStories,
  refusalStories,
  keyboardStories,
  sourcesStories,
  mendStories,
  unusualStories,
];

// Checked before any story is declared. Without a Chromium they are skipped, visibly; in CI that is a failure.
const opened = await openBrowser();
if ('problem' in opened) {
  process.stderr.write(`SKIPPED: the stories of the console need a Chromium. ${opened.problem}\n`);
  const declare = process.env['CI'] === 'true' ? it : it.skip;
  declare(name, () => {
    throw new Error(`There is no Chromium. ${opened.problem}`);
  });
} else {
  const { browser } = opened;
  describe(name, () => {
    let started: ConsoleStack | undefined;
    beforeAll(async () => {
      started = await startStack(browser);
    }, 360_000);
    afterAll(async () => {
      await browser.close();
      await started?.stop();
    }, 60_000);
    const stack = (): ConsoleStack => {
      if (started === undefined) throw new Error('The stack is there once the stories begin.');
      return started;
    };

    forwardingStories(stack);

    it('is available once everything has started', async () => {
      const answer = await stack().visit(undefined, 'about:blank', (page) => page.goto('/'));
      expect(answer?.status()).toBe(200);
    });

    it('is judged by a check that finds a faint text in the second of two rows, a nameless picture and a wide page', async () => {
      const rows = '<tr><td>One</td></tr><tr><td style="color: #ddd">Two</td></tr>';
      const html = `<!doctype html><html lang="en"><title>A</title><table>${rows}</table><img src="data:,"><p style="width: 500px">Wide`;
      const faults = await stack().visitAlone(undefined, 'about:blank', async (page) => {
        await page.setContent(html);
        return looksOf(page, stack(), 'faulty');
      });
      expect(faults).toEqual([
        'faulty-390-light: scrolls sideways',
        'faulty-390-dark: scrolls sideways',
        'faulty-390-dark: color-contrast at tr:nth-child(2) > td',
        'faulty-390-dark: image-alt at img',
        'faulty-1440-light: color-contrast at tr:nth-child(2) > td',
        'faulty-1440-light: image-alt at img',
      ]);
    });

    for (const declareStories of STORIES) declareStories(stack);
  });
}
