import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { casesStories } from './cases.stories.ts';
import { doorStories } from './door.stories.ts';
import { forwardingStories } from './forwarding.stories.ts';
import { keyboardStories } from './keyboard.stories.ts';
import { ledgerStories } from './ledger.stories.ts';
import { openBrowser } from './open-browser.ts';
import { partsStories } from './parts.stories.ts';
import { refusalStories } from './refusals.stories.ts';
import { risksStories } from './risks.stories.ts';
import { signInStories } from './sign-in.stories.ts';
import { sourcesStories } from './sources.stories.ts';
import { startStack, type ConsoleStack } from './start-stack.ts';
import { unusualStories } from './unusual.stories.ts';
import { verifyStories } from './verify.stories.ts';

// Checked before any story is declared, so that stories are skipped, visibly, on a machine without a browser.
const opened = await openBrowser();

if ('problem' in opened) {
  process.stderr.write(`SKIPPED: the stories of the console need a Chromium. ${opened.problem}\n`);
  const declare = process.env['CI'] === 'true' ? it : it.skip;
  declare('the console in a real browser', () => {
    throw new Error(`There is no Chromium. ${opened.problem}`);
  });
} else {
  describe('the console in a real browser', () => {
    let started: ConsoleStack | undefined;
    const stack = (): ConsoleStack => {
      if (started === undefined) throw new Error('The stack is there once the stories begin.');
      return started;
    };

    beforeAll(async () => {
      started = await startStack(opened.browser);
    }, 360_000);
    afterAll(async () => {
      await opened.browser.close();
      await started?.stop();
    }, 60_000);

    forwardingStories(stack);

    it('is available once everything has started', async () => {
      const page = await stack().newPage();
      const answer = await page.goto('/');
      expect(answer?.status()).toBe(200);
      await page.context().close();
    });

    partsStories(stack);
    signInStories(stack);
    ledgerStories(stack);
    verifyStories(stack);
    risksStories(stack);
    casesStories(stack);
    doorStories(stack);
    refusalStories(stack);
    keyboardStories(stack);
    sourcesStories(stack);
    unusualStories(stack);
  });
}
