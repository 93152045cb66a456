import { expect, it } from '@jest/globals';
import { describeConsole } from './describe-console.ts';
import { forwardingStories } from './forwarding.stories.ts';
import { ledgerStories } from './ledger.stories.ts';
import { partsStories } from './parts.stories.ts';
import { signInStories } from './sign-in.stories.ts';
import { verifyStories } from './verify.stories.ts';

await describeConsole('the console in a real browser', (stack) => {
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
});
