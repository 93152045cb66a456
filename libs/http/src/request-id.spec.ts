import { describe, expect, it } from '@jest/globals';
import { answerOf, plain, testRoute } from '../test/test-surface.ts';

const open = testRoute({
  ...plain,
  method: 'get',
  path: '/open',
  handler: ({ requestId, traceparent }) => ({ status: 200, body: { requestId, traceparent } }),
});

const echoing = testRoute({
  ...plain,
  operationId: 'echoing',
  method: 'get',
  path: '/echoing',
  permit: 'authenticated',
  admit: (asked) => ({ 'X-Request-Id': asked.header('x-request-id')[0] ?? '' }),
  handler: ({ requestId }) => ({ status: 200, body: { requestId, text: 'ä€' } }),
});

const routes = [open, echoing];

const answerTo = (head: readonly string[]) => answerOf(routes, head);

describe('X-Request-Id', () => {
  it.each([
    ['accepted when it is visible ASCII', 'abc-!~1', 'abc-!~1'],
    ['accepted up to 128 characters', 'x'.repeat(128), 'x'.repeat(128)],
    ['replaced past 128 characters', 'x'.repeat(129), 'made-here'],
    ['replaced when it contains a space', 'a b', 'made-here'],
    ['replaced when it is not ASCII', 'ä', 'made-here'],
    ['replaced when it is empty', '', 'made-here'],
  ])('is %s', async (_, sent, used) => {
    const { surface, answer } = await answerTo(['GET /open HTTP/1.1', `X-Request-Id: ${sent}`]);
    expect(answer.headers['x-request-id']).toBe(used);
    expect(answer.body).toMatchObject({ requestId: used });
    expect(surface.records).toMatchObject([{ requestId: used, status: 200, route: '/open', method: 'GET' }]);
  });

  it('is replaced when sent twice', async () => {
    const { answer } = await answerTo(['GET /open HTTP/1.1', 'X-Request-Id: one', 'X-Request-Id: two']);
    expect(answer.headers['x-request-id']).toBe('made-here');
  });

  const everyByte = String.fromCharCode(
    ...Array.from({ length: 0x100 }, (_, byte) => byte).filter((byte) => byte > 0x20 && byte !== 0x7f),
  );

  it.each([
    ['a space and quotes', 'a "b", c'],
    ['a tab', 'a\tb'],
    ['every byte allowed in a header', everyByte],
    ['text that looks like a log line or a header', '","level":"error"}\\r\\nSet-Cookie: a=b'],
    ['a kilobyte', 'é'.repeat(1024)],
  ])('from admit is sent unchanged, with %s, and not logged', async (_what, sent) => {
    for (const [line, status, code] of [
      ['GET /echoing HTTP/1.1\r\nX-Api-Key: good', 200, undefined],
      ['GET /echoing HTTP/1.1', 401, 'UNAUTHENTICATED'],
      ['GET /echoing?a=1 HTTP/1.1\r\nX-Api-Key: good', 400, 'UNKNOWN_PARAMETER'],
      ['DELETE /echoing HTTP/1.1\r\nX-Api-Key: good', 405, 'METHOD_NOT_ALLOWED'],
    ] as const) {
      const { surface, answer } = await answerTo([line, `X-Request-Id: ${sent}`]);
      expect(answer.headers['x-request-id']).toBe(sent);
      const instance = code === undefined ? {} : { code, instance: 'urn:request:made-here' };
      expect(answer).toMatchObject({ status, body: status === 200 ? { requestId: 'made-here' } : instance });
      expect(surface.records).toMatchObject([{ requestId: 'made-here', status }]);
    }
  });

  it('is percent-encoded in a problem', async () => {
    const { answer } = await answerTo(['GET /nothing HTTP/1.1', 'X-Request-Id: a"b/c']);
    expect(answer.body).toMatchObject({ instance: 'urn:request:a%22b%2Fc' });
  });
});
