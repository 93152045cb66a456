import { describe, expect, it } from '@jest/globals';
import { AppError } from '@sealgate/errors';
import type { LiveSource } from './domain/caller.ts';
import type { DeliveryAnswer, DeliveryRequest } from './domain/take-delivery.ts';
import { FailingSources, watchedDeliveries, type DeliveryReport } from './open-sources.ts';

const sourceOf = (sourceId: string) => ({ sourceId }) as LiveSource;
const request = { caller: { source: sourceOf('one') }, requestId: 'req_1' } as unknown as DeliveryRequest;

describe('each delivery', () => {
  it.each<[string, unknown, string | undefined]>([
    ['written', { outcome: 'written', body: '', confirmed: true }, undefined],
    ['conflict', { outcome: 'conflict', body: '', confirmed: false }, undefined],
    ['unsigned', new AppError('UNAUTHENTICATED', '.'), 'UNAUTHENTICATED'],
    ['limited', new AppError('RATE_LIMITED', '.'), 'RATE_LIMITED'],
    ['refused', new AppError('INVALID_JSON', '.'), 'INVALID_JSON'],
    ['failed', new AppError('OUTCOME_UNKNOWN', '.'), 'OUTCOME_UNKNOWN'],
    ['failed', new Error('a bug'), 'INTERNAL'],
  ])('is reported as %s once', async (end, made, code) => {
    const reports: DeliveryReport[] = [];
    const take = async (): Promise<DeliveryAnswer> => {
      if (made instanceof Error) throw made;
      return made as DeliveryAnswer;
    };
    const taken = watchedDeliveries(take, (report) => reports.push(report))(request);
    if (made instanceof Error) await expect(taken).rejects.toBe(made);
    else expect(await taken).toBe(made);
    expect(reports).toEqual([
      { source: sourceOf('one'), requestId: 'req_1', end, ...(code === undefined ? {} : { code }) },
    ]);
  });
});

const MISSING = { unvouched: 'header-missing', header: 'x-sig' } as const;

describe('sources that fail', () => {
  it('are counted until a signature is valid, or for a quarter of an hour after the last delivery', () => {
    let nowMs = 0;
    const reports: string[] = [];
    const failing = new FailingSources({
      now: () => nowMs,
      onFailing: ({ sourceId }, { unvouched, header }, requestId) =>
        reports.push(`${sourceId} ${unvouched} ${header} ${requestId}`),
    });
    const [one, two] = [sourceOf('one'), sourceOf('two')];
    failing.vouched(one, { keyId: 'k1' }, 'r');
    expect(failing.count()).toBe(0);
    for (const source of [one, one, two]) failing.vouched(source, MISSING, source.sourceId === 'two' ? 'r2' : 'r1');
    expect(failing.count()).toBe(2);
    failing.vouched(one, { keyId: 'k1' }, 'r');
    expect(failing.count()).toBe(1);
    nowMs = 899_999;
    expect(failing.count()).toBe(1);
    nowMs = 900_000;
    expect(failing.count()).toBe(0);
    failing.vouched(two, { unvouched: 'no-matching-secret' }, 'r3');
    expect(reports).toEqual([
      'one header-missing x-sig r1',
      'two header-missing x-sig r2',
      'two no-matching-secret undefined r3',
    ]);
  });

  it('leave when they were deleted or disabled', async () => {
    const failing = new FailingSources({ now: () => 0, onFailing: () => undefined });
    const asked: (readonly string[])[] = [];
    const accepting = async (sourceIds: readonly string[]) => {
      asked.push(sourceIds);
      return new Set(['two']);
    };
    await failing.keep(accepting);
    expect(asked).toEqual([]);
    for (const id of ['one', 'two', 'three']) failing.vouched(sourceOf(id), MISSING, 'r');
    await failing.keep(accepting);
    expect([asked, failing.count()]).toEqual([[['one', 'two', 'three']], 1]);
  });

  it('are bounded in number', () => {
    const failing = new FailingSources({ now: () => 0, onFailing: () => undefined });
    for (let n = 0; n < 1500; n += 1) failing.vouched(sourceOf(String(n)), MISSING, 'r');
    expect(failing.count()).toBe(1000);
  });
});
