import { beforeEach, describe, expect, it } from '@jest/globals';
import { EventTail, type TailFilter } from './event-tail.ts';
import type { RefusalOfSource } from './refusals.ts';
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
let refused: RefusalOfSource[];
beforeEach(() => {
  [nowMs, stored, asked, fault, looks, work] = [START_MS, [], [], undefined, 0, undefined];
  refused = [];
  tail = new EventTail({
    now: () => nowMs,
    mostListeners: 3,
    mostOfOne: 2,
    begin(given) {
      work = given;
      return () => (work = undefined);
    },
    refused: { recent: async (from) => refused.filter(({ at }) => at >= from).toReversed() },
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

function refuse(refusedId: string, networkId = 'acme', atMs = nowMs): void {
  refused.push({
    refusedId,
    networkId,
    sourceId: 'src_a',
    sourceName: 'GitHub',
    code: 'INVALID_JSON',
    reason: 'not-json',
    isAuthentic: true,
    detail: 'd',
    requestId: 'req_1',
    at: new Date(atMs),
  });
}

let watchers = 0;
function watchRefused(filter: TailFilter = {}) {
  const ids: string[] = [];
  const person = `admin:${(watchers += 1)}`;
  const nothing = () => undefined;
  const leave = tail.listen(
    {
      person,
      filter,
      onEvent: nothing,
      onRefused: ({ refusedId }) => ids.push(refusedId),
      onGap: nothing,
      onEnd: nothing,
    },
    undefined,
  );
  return { ids, leave };
}

function watch(filter: TailFilter = {}, after?: string, person = `admin:${(watchers += 1)}`) {
  const events: string[] = [];
  const leave = tail.listen(
    {
      person,
      filter,
      onEvent: ({ eventId, status }) => events.push(status === 'committed' ? eventId : `${eventId} ${status}`),
      onGap: (reason) => events.push(`gap: ${reason}`),
      onEnd: (reason) => events.push(`end: ${reason}`),
    },
    after,
  );
  return { events, leave };
}

const look = async () => {
  nowMs += 1000;
  await work!();
};
const settle = () => new Promise((resolve) => setImmediate(resolve));

describe('events as they are written', () => {
  it('are sent once each, oldest first, without earlier events', async () => {
    write();
    nowMs += 10;
    const { events } = watch();
    const [first, second] = [write(), write()];
    await look();
    expect(events).toEqual([first, second]);
    const third = write();
    await look();
    await look();
    expect(events).toEqual([first, second, third]);
  });

  it('are polled once for all clients, and not at all without clients', async () => {
    const all = [watch(), watch(), watch()];
    const id = write();
    await look();
    expect([looks, all.map(({ events }) => events)]).toEqual([1, [[id], [id], [id]]]);
    for (const { leave } of all) leave();
    expect([work, tail.size]).toEqual([undefined, 0]);
    // A later client does not receive what was written before it connected.
    write();
    nowMs += 10;
    const { events } = watch();
    await look();
    expect(events).toEqual([]);
  });

  it('are sent even if an older id is written later, and again when their status changes', async () => {
    const { events } = watch();
    await look();
    const first = write();
    await look();
    const late = write({ status: 'unknown' }, nowMs - 100_000);
    await look();
    expect(events).toEqual([first, `${late} unknown`]);
    stored = stored.map((event) => (event.eventId === late ? { ...event, status: 'rejected' } : event));
    await look();
    expect(events).toEqual([first, `${late} unknown`, `${late} rejected`]);
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
  ])('are sent by the filter %j', async (filter, count) => {
    const { events } = watch(filter);
    write();
    await look();
    expect(events).toHaveLength(count);
  });

  it('include a gap where there are more than one poll returns', async () => {
    const { events } = watch();
    await look();
    for (let n = 0; n < 501; n += 1) write();
    await look();
    expect([events[0], events.length]).toEqual(['gap: more events than can be shown at once', 501]);
  });

  it('resume after the last event received, with a short overlap', async () => {
    const old = write();
    nowMs += 6000;
    const seen = write();
    nowMs += 2000;
    const missed = write();
    const { events } = watch({ networkId: 'acme' }, seen);
    await settle();
    expect(events).toEqual([seen, missed]);
    expect(events).not.toContain(old);
    expect(asked).toEqual([{ networkId: 'acme', from: new Date(START_MS + 1000) }]);
  });

  it.each<[string, string]>([
    ['too long ago', idAt(START_MS - 900_001, 1)],
    ['of a time to come', idAt(START_MS + 60_000, 1)],
    ['not one of ours', 'first'],
  ])('include a gap where the last event received is %s', async (_what, after) => {
    const { events } = watch({}, after);
    await settle();
    expect(events).toEqual(['gap: the last event that was seen is too long ago']);
    expect(asked).toEqual([]);
  });

  it('include a gap where too much was missed, or it cannot be read', async () => {
    const seen = write();
    for (let n = 0; n < 501; n += 1) write();
    const many = watch({}, seen);
    await settle();
    expect([many.events[0], many.events.length]).toEqual(['gap: more events than can be shown at once', 501]);
    fault = new Error('away');
    const none = watch({}, seen);
    await settle();
    expect(none.events).toEqual(['gap: the events in between cannot be read now']);
  });

  it('are sent after an outage as if there had been none', async () => {
    const { events } = watch();
    await look();
    fault = new Error('away');
    const id = write();
    await expect(look()).rejects.toThrow('away');
    expect(events).toEqual([]);
    fault = undefined;
    await look();
    expect(events).toEqual([id]);
  });

  it('leave places for others: one person has a share of them', () => {
    const of = (person: string) => watch({}, undefined, person);
    const [first] = [of('oidc:i#viewer'), of('oidc:i#viewer')];
    expect(() => of('oidc:i#viewer')).toThrow(expect.objectContaining({ code: 'OVERLOADED', retryAfterSeconds: 30 }));
    of('oidc:i#other');
    expect(() => of('oidc:i#third')).toThrow('3 clients are connected already.');
    first.leave();
    of('oidc:i#viewer');
  });

  it('have a maximum number of clients, and end when the process stops', async () => {
    const all = [watch(), watch(), watch()];
    expect(() => watch()).toThrow(expect.objectContaining({ code: 'OVERLOADED', retryAfterSeconds: 30 }));
    all[0]!.leave();
    const next = watch();
    tail.close();
    expect([all[0]!.events, all[1]!.events, next.events]).toEqual([
      [],
      ['end: the process stops'],
      ['end: the process stops'],
    ]);
    expect([work, tail.size]).toEqual([undefined, 0]);
  });
});

describe('refused deliveries as they are refused', () => {
  it('are sent once each to who asked for them, oldest first, and no earlier ones', async () => {
    refuse('rfd_before', 'acme', nowMs - 1);
    const { ids } = watchRefused();
    const { events } = watch();
    refuse('rfd_1');
    refuse('rfd_2', 'acme', nowMs + 1);
    await look();
    await look();
    expect(ids).toEqual(['rfd_1', 'rfd_2']);
    expect(events).toEqual([]);
  });

  it('are of a network, and of no type, status, kind or channel', async () => {
    const filters: TailFilter[] = [{ networkId: 'acme' }, { networkId: 'demo' }, { status: 'rejected' }];
    const all = filters.map(watchRefused);
    refuse('rfd_1');
    await look();
    expect(all.map(({ ids }) => ids)).toEqual([['rfd_1'], [], []]);
  });
});
