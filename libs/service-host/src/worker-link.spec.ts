import { PassThrough } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import { forwardLines, WorkerLink, type LinkOptions } from './run-workers.ts';

type Named = Partial<Pick<LinkOptions, 'answers' | 'notices'>>;

/** Two ends connected through JSON, as between processes. */
function linked({ answers = {}, notices = {} }: Named = {}) {
  const timers: { work: () => void; ms: number }[] = [];
  const startTimer = (work: () => void, ms: number) => {
    const timer = { work, ms };
    timers.push(timer);
    return () => void timers.splice(timers.indexOf(timer), 1);
  };
  const copied = (message: object): unknown => JSON.parse(JSON.stringify(message));
  const far = new WorkerLink({ send: (message) => near.receive(copied(message)), answers, notices, startTimer });
  const near: WorkerLink = new WorkerLink({
    ...{ send: (message: object) => far.receive(copied(message)), startTimer },
    ...{ answers: {}, notices: {} },
  });
  return { near, far, timers };
}

describe('WorkerLink', () => {
  it('answers requests with values or errors', async () => {
    const fail = () => Promise.reject(new Error('out of order'));
    const { near, timers } = linked({ answers: { ready: async () => ({ ok: true }), metrics: fail } });
    const asked = [near.ask('ready', 10), near.ask('metrics', 10), near.ask('weather', 10)];
    expect(await Promise.allSettled(asked)).toMatchObject([
      { status: 'fulfilled', value: { ok: true } },
      { status: 'rejected', reason: { message: 'out of order' } },
      { status: 'rejected', reason: { message: expect.stringContaining('Nothing answers weather.') } },
    ]);
    expect(timers).toEqual([]);
  });

  it('times out a request, and ignores a late answer', async () => {
    let answer: (value: unknown) => void = () => undefined;
    const { near, timers } = linked({ answers: { slow: () => new Promise((resolve) => (answer = resolve)) } });
    const asked = near.ask('slow', 25);
    expect(timers.map(({ ms }) => ms)).toEqual([25]);
    timers[0]?.work();
    await expect(asked).rejects.toThrow('did not answer within 25 ms');
    answer('late');
  });

  it('rejects requests to a process that has exited, pending or new', async () => {
    const { near, timers } = linked({ answers: { slow: () => new Promise(() => undefined) } });
    const asked = near.ask('slow', 25);
    near.close();
    await expect(asked).rejects.toThrow('has ended');
    await expect(near.ask('slow', 25)).rejects.toThrow('has ended');
    expect(timers).toEqual([]);
  });

  it('passes notices on, and ignores foreign messages', () => {
    const told: unknown[] = [];
    const { near, far } = linked({ notices: { started: (value) => told.push(value) } });
    near.notify('started', { url: 'http://127.0.0.1:1' });
    near.notify('unheard of');
    for (const message of [null, 'text', {}, { link: 'other', kind: 'notice', name: 'started' }]) far.receive(message);
    expect(told).toEqual([{ url: 'http://127.0.0.1:1' }]);
  });
});

describe('the logs of workers', () => {
  it('are forwarded by whole lines; an incomplete last line is completed', async () => {
    const written: string[] = [];
    const to = new PassThrough();
    to.on('data', (text) => written.push(String(text)));
    const [one, two] = [new PassThrough(), new PassThrough()];
    for (const from of [one, two]) forwardLines(from, to);
    const push = async (from: PassThrough, text: string) => {
      from.write(text);
      await new Promise((resolve) => setImmediate(resolve));
    };
    await push(one, 'a1\na2 be');
    await push(two, 'b1\n');
    await push(one, 'gins\na3');
    two.end('b2');
    one.end();
    await new Promise((resolve) => setImmediate(resolve));
    expect(written.join('')).toBe('a1\nb1\na2 begins\nb2\na3\n');
  });

  it('wait while the output is blocked', async () => {
    const to = new PassThrough({ highWaterMark: 4 });
    const from = new PassThrough();
    forwardLines(from, to);
    from.write('a long line\n');
    await new Promise((resolve) => setImmediate(resolve));
    expect(from.isPaused()).toBe(true);
    to.resume();
    await new Promise((resolve) => setImmediate(resolve));
    expect(from.isPaused()).toBe(false);
  });
});
