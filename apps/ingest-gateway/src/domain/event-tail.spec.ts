import { beforeEach, describe, expect, it } from '@jest/globals';
import { EventTail, type TailFilter } from './event-tail.ts';
import type { EventFilter, IngestEvent, SeenEvent } from './read-events.ts';

const START_MS = Date.UTC(2026, 5, 1);
const idAt = (ms: number, n: number) => `evt_${ms.toString(16).padStart(12, '0')}${String(n).padStart(20, '0')}`;

let nowMs: number;
let stored: IngestEvent[];
let asked: EventFilter[];
let fault: Error | undefined;
let looks: number;
let work: (() => Promise<void>) | undefined;
let tail: EventTail;
beforeEach(() => {
  [nowMs, stored, asked, fault, looks, work] = [START_MS, [], [], undefined, 0, undefined];
  tail = new EventTail({
    now: () => nowMs,
    mostListeners: 3,
    begin(given) {
      work = given;
      return () => (work = undefined);
    },
    events: {
      async recent(from, limit, isKnown) {
        looks += 1;
        if (fault !== undefined) throw fault;
        const seen: SeenEvent[] = newest()
          .filter((event) => idTime(event) >= from.getTime())
          .slice(0, limit);
        return { seen, unknown: (seen as IngestEvent[]).filter((event) => !isKnown(event)) };
      },
      async list(filter, { limit }) {
        asked.push(filter);
        if (fault !== undefined) throw fault;
        return newest()
          .filter((event) => idTime(event) >= filter.from!.getTime())
          .slice(0, limit);
      },
    },
  });
});

const newest = () => stored.toSorted((a, b) => (a.eventId < b.eventId ? 1 : -1));
const idTime = ({ eventId }: IngestEvent) => Number.parseInt(eventId.slice(4, 16), 16);

let made = 0;
function write(more: Partial<IngestEvent> = {}, madeAtMs = nowMs): string {
  const eventId = idAt(madeAtMs, (made += 1));
  stored.push({
    eventId,
    kind: 'write',
    networkId: 'acme',
    keyId: 'key_1',
    status: 'committed',
    types: ['order'],
    records: [{ id: 'r', channel: 'acme.main', transactionId: 'ab' }],
    transactionIds: ['ab'],
    requestId: 'req_1',
    strippedFields: 0,
    at: new Date(nowMs),
    ...more,
  });
  return eventId;
}

function watch(filter: TailFilter = {}, after?: string) {
  const told: string[] = [];
  const leave = tail.listen(
    {
      filter,
      onEvent: ({ eventId, status }) => told.push(status === 'committed' ? eventId : `${eventId} ${status}`),
      onGap: (reason) => told.push(`gap: ${reason}`),
      onEnd: (reason) => told.push(`end: ${reason}`),
    },
    after,
  );
  return { told, leave };
}

const look = async () => {
  nowMs += 1000;
  await work!();
};
const settle = () => new Promise((resolve) => setImmediate(resolve));

describe('events as they are written', () => {
  it('are told once each, oldest first, and nothing of before', async () => {
    write();
    nowMs += 10;
    const { told } = watch();
    const [first, second] = [write(), write()];
    await look();
    expect(told).toEqual([first, second]);
    const third = write();
    await look();
    await look();
    expect(told).toEqual([first, second, third]);
  });

  it('are read once for everybody who watches, and by nobody when nobody does', async () => {
    const all = [watch(), watch(), watch()];
    const id = write();
    await look();
    expect([looks, all.map(({ told }) => told)]).toEqual([1, [[id], [id], [id]]]);
    for (const { leave } of all) leave();
    expect([work, tail.size]).toEqual([undefined, 0]);
    // Who comes later is not told of what was written meanwhile.
    write();
    nowMs += 10;
    const { told } = watch();
    await look();
    expect(told).toEqual([]);
  });

  it('are told also where an older id is written later, and again when their status changes', async () => {
    const { told } = watch();
    await look();
    const first = write();
    await look();
    const late = write({ status: 'unknown' }, nowMs - 100_000);
    await look();
    expect(told).toEqual([first, `${late} unknown`]);
    stored = stored.map((event) => (event.eventId === late ? { ...event, status: 'rejected' } : event));
    await look();
    expect(told).toEqual([first, `${late} unknown`, `${late} rejected`]);
  });

  it.each<[TailFilter, number]>([
    [{ networkId: 'acme' }, 1],
    [{ networkId: 'demo' }, 0],
    [{ type: 'order' }, 1],
    [{ type: 'ord' }, 0],
    [{ status: 'committed' }, 1],
    [{ status: 'rejected' }, 0],
    [{ kind: 'write' }, 1],
    [{ kind: 'ping' }, 0],
    [{ channel: 'acme.main' }, 1],
    [{ channel: 'acme.other' }, 0],
  ])('are told by the filter %j', async (filter, count) => {
    const { told } = watch(filter);
    write();
    await look();
    expect(told).toHaveLength(count);
  });

  it('come with a gap where there are more than one look shows', async () => {
    const { told } = watch();
    await look();
    for (let n = 0; n < 501; n += 1) write();
    await look();
    expect([told[0], told.length]).toEqual(['gap: more events than can be shown at once', 501]);
  });

  it('go on behind the last one that was seen, with a little twice', async () => {
    const old = write();
    nowMs += 6000;
    const seen = write();
    nowMs += 2000;
    const missed = write();
    const { told } = watch({ networkId: 'acme' }, seen);
    await settle();
    expect(told).toEqual([seen, missed]);
    expect(told).not.toContain(old);
    expect(asked).toEqual([{ networkId: 'acme', from: new Date(START_MS + 1000) }]);
  });

  it.each<[string, string]>([
    ['too long ago', idAt(START_MS - 900_001, 1)],
    ['of a time to come', idAt(START_MS + 60_000, 1)],
    ['not one of ours', 'first'],
  ])('say that there is a gap where the last one that was seen is %s', async (_what, after) => {
    const { told } = watch({}, after);
    await settle();
    expect(told).toEqual(['gap: the last event that was seen is too long ago']);
    expect(asked).toEqual([]);
  });

  it('say so too where more was missed than is told again, or it cannot be read', async () => {
    const seen = write();
    for (let n = 0; n < 501; n += 1) write();
    const many = watch({}, seen);
    await settle();
    expect([many.told[0], many.told.length]).toEqual(['gap: more events than can be shown at once', 501]);
    fault = new Error('away');
    const none = watch({}, seen);
    await settle();
    expect(none.told).toEqual(['gap: the events in between cannot be read now']);
  });

  it('are told after an outage as if it had not been', async () => {
    const { told } = watch();
    await look();
    fault = new Error('away');
    const id = write();
    await expect(look()).rejects.toThrow('away');
    expect(told).toEqual([]);
    fault = undefined;
    await look();
    expect(told).toEqual([id]);
  });

  it('are for so many at once, and for nobody when the process stops', async () => {
    const all = [watch(), watch(), watch()];
    expect(() => watch()).toThrow(expect.objectContaining({ code: 'OVERLOADED', retryAfterSeconds: 30 }));
    all[0]!.leave();
    const next = watch();
    tail.close();
    expect([all[0]!.told, all[1]!.told, next.told]).toEqual([
      [],
      ['end: the process stops'],
      ['end: the process stops'],
    ]);
    expect([work, tail.size]).toEqual([undefined, 0]);
  });
});
