import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import express from 'express';
import fastify from 'fastify';
import { expressDoor, fastifyDoor, gateDoor, type DoorAnswer, type Visit } from './index.ts';

const open: (() => unknown)[] = [];
afterEach(() => Promise.all(open.splice(0).map((close) => close())));

interface Gate {
  readonly ask: (visit: Visit) => Promise<DoorAnswer>;
  readonly asked: {
    readonly body: unknown;
    readonly authorization: string | undefined;
    readonly path: string | undefined;
  }[];
}

/** A gate with this answer, queried with a timeout of 1 s by default. */
async function gate(answer: (response: ServerResponse) => void, timeoutMs?: number): Promise<Gate> {
  const asked: Gate['asked'] = [];
  const server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8');
    request.on('data', (part: string) => (text += part));
    request.on('end', () => {
      asked.push({ body: JSON.parse(text), authorization: request.headers.authorization, path: request.url });
      answer(response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  open.push(
    () => server.closeAllConnections(),
    () => server.close(),
  );
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { asked, ask: gateDoor({ baseUrl, key: 'gk_k', ...(timeoutMs !== undefined && { timeoutMs }) }) };
}

const says =
  (text: string, code = 200, headers: Record<string, string> = {}) =>
  (response: ServerResponse): void =>
    void response.writeHead(code, { 'content-type': 'application/json', connection: 'close', ...headers }).end(text);

const VISIT = { subject: 'subj_1', venue: 'main-door' };
const ALLOW = '{"decision":true,"context":{"decision_id":"gd_1","reason_codes":["ELIGIBLE"],"fail_closed":false}}';

describe('a door', () => {
  it('queries the gate by AuthZEN, and allows on true', async () => {
    const { ask, asked } = await gate(says(ALLOW));
    expect(await ask(VISIT)).toEqual({ allow: true, reason: 'ELIGIBLE', decisionId: 'gd_1' });
    expect(asked).toEqual([
      {
        path: '/access/v1/evaluation',
        authorization: 'Bearer gk_k',
        body: {
          subject: { type: 'subject', id: 'subj_1' },
          resource: { type: 'venue', id: 'main-door' },
          action: { name: 'enter' },
        },
      },
    ]);
  });

  it('queries each time', async () => {
    const { ask, asked } = await gate(says(ALLOW));
    await ask(VISIT);
    await ask(VISIT);
    expect(asked).toHaveLength(2);
  });

  it.each<[string, string, (response: ServerResponse) => void]>([
    [
      'a denial',
      'INELIGIBLE',
      says('{"decision":false,"context":{"decision_id":"gd_1","reason_codes":["INELIGIBLE"]}}'),
    ],
    ['a decision that is a string', 'UNREADABLE', says('{"decision":"true"}')],
    ['a decision that is a number', 'UNREADABLE', says('{"decision":1}')],
    ['a nested decision', 'UNREADABLE', says('[{"decision":true}]')],
    ['invalid JSON', 'UNREADABLE', says(ALLOW.slice(0, -1))],
    ['nothing', 'UNREADABLE', says('')],
    ['null', 'UNREADABLE', says('null')],
    ['an oversized answer', 'UNREADABLE', says(`${ALLOW}${' '.repeat(65_536)}`)],
    ['true with a 500', 'REFUSED', says('{"decision":true}', 500)],
    ['true with a 201', 'REFUSED', says('{"decision":true}', 201)],
    ['a refusal with its code', 'UNAUTHENTICATED', says('{"decision":false,"code":"UNAUTHENTICATED"}', 401)],
    ['a redirect', 'UNREACHABLE', says('', 307, { location: '/elsewhere' })],
    ['a closed connection', 'UNREACHABLE', (response) => response.socket?.destroy()],
    [
      'a partial answer',
      'UNREACHABLE',
      (response) =>
        void response.writeHead(200, { 'content-length': 500 }).write(ALLOW, () => response.socket?.destroy()),
    ],
  ])('denies on %s', async (_, reason, answer) => {
    const { ask } = await gate(answer);
    const { allow, reason: found } = await ask(VISIT);
    expect({ allow, found }).toEqual({ allow: false, found: reason });
  });

  it.each<[string, (response: ServerResponse) => void]>([
    ['no answer', () => undefined],
    ['an endless answer', (response) => void response.writeHead(200).write(ALLOW)],
  ])('denies after its timeout on %s', async (_, answer) => {
    const { ask } = await gate(answer, 100);
    expect(await ask(VISIT)).toEqual({ allow: false, reason: 'DEADLINE_EXCEEDED' });
  });

  it('denies if the gate is unreachable', async () => {
    expect(await gateDoor({ baseUrl: 'http://127.0.0.1:1', key: 'gk_k' })(VISIT)).toEqual({
      allow: false,
      reason: 'UNREACHABLE',
    });
    expect(await gateDoor({ baseUrl: 'not an address', key: 'gk_k' })(VISIT)).toEqual({
      allow: false,
      reason: 'UNREACHABLE',
    });
  });
});

const visitOf = (headers: Record<string, unknown>): Visit | undefined => {
  const subject = headers['x-subject'];
  if (subject === 'throws') throw new Error('no such badge');
  return typeof subject === 'string' ? { subject, venue: 'main-door' } : undefined;
};

/** The same application in both frameworks: the routes behind the door, and the logged answers. */
const frameworks = [
  [
    'Express',
    async (ask: Gate['ask'], answers: DoorAnswer[]): Promise<string> => {
      const app = express();
      app.use(
        expressDoor<express.Request>(
          ask,
          ({ headers }) => visitOf(headers),
          (answer) => answers.push(answer),
        ),
      );
      app.get('/room', (_request, response) => void response.send('inside'));
      const server = app.listen(0, '127.0.0.1');
      await new Promise((resolve) => server.once('listening', resolve));
      open.push(() => server.close());
      return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    },
  ],
  [
    'Fastify',
    (ask: Gate['ask'], answers: DoorAnswer[]): Promise<string> => {
      const app = fastify();
      const door = fastifyDoor<{ headers: Record<string, unknown> }>(
        ask,
        ({ headers }) => visitOf(headers),
        (answer) => answers.push(answer),
      );
      app.get('/room', { preHandler: (request, reply) => door(request, reply) }, () => 'inside');
      open.push(() => app.close());
      return app.listen({ port: 0, host: '127.0.0.1' });
    },
  ],
] as const;

describe.each(frameworks)('middleware for %s', (_, start) => {
  const enter = async (url: string, headers: Record<string, string>): Promise<[number, string]> => {
    const response = await fetch(`${url}/room`, { headers });
    return [response.status, await response.text()];
  };

  it('allows a permitted visitor', async () => {
    const { ask } = await gate(says(ALLOW));
    const answers: DoorAnswer[] = [];
    const url = await start(ask, answers);
    expect(await enter(url, { 'x-subject': 'subj_1' })).toEqual([200, 'inside']);
    expect(answers).toEqual([{ allow: true, reason: 'ELIGIBLE', decisionId: 'gd_1' }]);
  });

  it('answers 403 otherwise, without the reason, and runs nothing behind the door', async () => {
    const { ask } = await gate(says('{"decision":false,"context":{"reason_codes":["ELIGIBILITY_REVOKED"]}}'));
    const answers: DoorAnswer[] = [];
    const url = await start(ask, answers);
    expect(await enter(url, { 'x-subject': 'subj_1' })).toEqual([
      403,
      '{"type":"about:blank","title":"Forbidden","status":403}',
    ]);
    expect(answers).toEqual([{ allow: false, reason: 'ELIGIBILITY_REVOKED' }]);
  });

  it.each([
    ['there is no visitor', {}],
    ['finding the visitor fails', { 'x-subject': 'throws' }],
  ])('denies without a query if %s', async (_title, headers) => {
    const { ask, asked } = await gate(says(ALLOW));
    const answers: DoorAnswer[] = [];
    const url = await start(ask, answers);
    expect((await enter(url, headers as Record<string, string>))[0]).toBe(403);
    expect(answers).toEqual([{ allow: false, reason: 'NOT_ASKED' }]);
    expect(asked).toEqual([]);
  });

  it('denies if the door itself fails', async () => {
    const url = await start(() => Promise.reject(new Error('a bug')), []);
    expect((await enter(url, { 'x-subject': 'subj_1' }))[0]).toBe(403);
  });
});
