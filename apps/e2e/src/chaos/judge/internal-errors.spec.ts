import { expect, it } from '@jest/globals';
import { internalErrors } from './internal-errors.ts';
import { asked, verdictOf } from './testing/lines.ts';

it('an outage, a refusal and no answer are no internal error; a 500 is', async () => {
  const lines = [asked({ status: 200 }), asked({ status: 503 }), asked({ status: 409 }), asked({})];
  expect(await verdictOf(internalErrors(), lines)).toMatchObject({ judged: 3, broken: [] });
  expect(await verdictOf(internalErrors(), [asked({ status: 500, text: '{}' })])).toMatchObject({
    ...{ judged: 1, firstLine: 1 },
    broken: ['line 1: /acme was answered {}'],
  });
});
