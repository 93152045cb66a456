import { afterAll, beforeAll, describe, it } from '@jest/globals';
import { openBrowser } from './open-browser.ts';
import { startStack, type ConsoleStack } from './start-stack.ts';

/**
 * Declares stories that share one stack of `npm start` and a real browser. Without a Chromium they are skipped, visibly; in
 * CI that is a failure.
 */
export async function describeConsole(
  name: string,
  declareStories: (stack: () => ConsoleStack) => void,
): Promise<void> {
  // Checked before any story is declared.
  const opened = await openBrowser();
  if ('problem' in opened) {
    process.stderr.write(`SKIPPED: the stories of the console need a Chromium. ${opened.problem}\n`);
    const declare = process.env['CI'] === 'true' ? it : it.skip;
    declare(name, () => {
      throw new Error(`There is no Chromium. ${opened.problem}`);
    });
    return;
  }
  describe(name, () => {
    let started: ConsoleStack | undefined;
    beforeAll(async () => {
      started = await startStack(opened.browser);
    }, 360_000);
    afterAll(async () => {
      await opened.browser.close();
      await started?.stop();
    }, 60_000);
    declareStories(() => {
      if (started === undefined) throw new Error('The stack is there once the stories begin.');
      return started;
    });
  });
}
