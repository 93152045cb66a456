import { describe, expect, it } from '@jest/globals';
import { Type } from '@sinclair/typebox';
import request from 'supertest';
import { expectProblem } from '@sealgate/testing';
import { plain, testRoute, testSurface } from '../test/test-surface.ts';
import { BodyTurns } from './body-turns.ts';

const options = { atOnceBytes: 10, waitingBytes: 20, waitMs: 1000 };

/** Takes a turn; tells whether it has started. */
function taken(turns: BodyTurns, bytes: number) {
  const state = { has: false, end: (): void => undefined, refused: undefined as unknown };
  void turns.take(bytes).then(
    (end) => Object.assign(state, { has: true, end }),
    (refused: unknown) => Object.assign(state, { refused }),
  );
  return state;
}

const settle = () => new Promise((resolve) => setImmediate(resolve));

describe('BodyTurns', () => {
  it('admits bodies while they fit, then in order of arrival', async () => {
    const turns = new BodyTurns(options);
    const [one, two, large, small] = [6, 4, 9, 1].map((bytes) => taken(turns, bytes));
    await settle();
    expect([one, two, large, small].map((turn) => turn?.has)).toEqual([true, true, false, false]);
    two?.end();
    two?.end();
    await settle();
    expect([large?.has, small?.has]).toEqual([false, false]);
    one?.end();
    await settle();
    expect([large?.has, small?.has]).toEqual([true, true]);
  });

  it('admits a body above the total limit when it is alone', async () => {
    const turns = new BodyTurns(options);
    const first = taken(turns, 1);
    const huge = taken(turns, 15);
    await settle();
    expect(huge.has).toBe(false);
    first.end();
    await settle();
    expect(huge.has).toBe(true);
  });

  it('refuses when the queue is full or the wait times out, and then frees the queue', async () => {
    const turns = new BodyTurns({ ...options, waitMs: 20 });
    const first = taken(turns, 10);
    const late = taken(turns, 15);
    const tooMuch = taken(turns, 6);
    await settle();
    expect(tooMuch.refused).toMatchObject({ code: 'OVERLOADED', retryAfterSeconds: 1 });
    await new Promise((resolve) => setTimeout(resolve, 40));
    expect(late.refused).toMatchObject({ code: 'OVERLOADED' });
    const next = taken(turns, 10);
    first.end();
    await settle();
    expect(next.has).toBe(true);
  });

  it('is released when the request is answered, with any status', async () => {
    const bodyTurns = new BodyTurns({ atOnceBytes: 200_000, waitingBytes: 0, waitMs: 10 });
    const route = testRoute({
      ...plain,
      method: 'post',
      path: '/large',
      body: Type.Object({ text: Type.String() }),
      bodyMaxBytes: 1_000_000,
      handler: async ({ body }) => {
        // While this one is processed, no other large body is admitted.
        const other = await bodyTurns.take(200_000).catch((error: unknown) => error);
        return { status: 200, body: { length: body.text.length, other: String(other) } };
      },
    });
    const { app } = testSurface([route], { bodyTurns });
    const send = (body: object) => request(app).post('/large').send(body);
    const text = 'x'.repeat(150_000);
    expect((await send({ text })).body).toEqual({
      length: 150_000,
      other: expect.stringContaining('Too many large bodies'),
    });
    expectProblem(await send({ wrong: text }), 'INVALID_REQUEST', { errors: [{ in: 'body', pointer: '/text' }] });
    expect((await send({ text })).status).toBe(200);
    // A small body takes no turn.
    const end = await bodyTurns.take(200_000);
    expect((await send({ text: 'x' })).status).toBe(200);
    expectProblem(await send({ text }), 'OVERLOADED');
    end();
  });
});
