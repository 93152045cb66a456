import { casesStories } from './cases.stories.ts';
import { describeConsole } from './describe-console.ts';
import { doorStories } from './door.stories.ts';
import { keyboardStories } from './keyboard.stories.ts';
import { refusalStories } from './refusals.stories.ts';
import { risksStories } from './risks.stories.ts';
import { sourcesStories } from './sources.stories.ts';
import { unusualStories } from './unusual.stories.ts';

await describeConsole('the pages of the surfaces in a real browser', (stack) => {
  risksStories(stack);
  casesStories(stack);
  doorStories(stack);
  refusalStories(stack);
  keyboardStories(stack);
  sourcesStories(stack);
  unusualStories(stack);
});
