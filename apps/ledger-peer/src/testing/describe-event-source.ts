import { describe, expect, it } from '@jest/globals';
import { until } from '@sealgate/testing';
import { BEGINNING, makeEventCursor, readEventCursor, type EventPosition } from '../domain/event-cursor.ts';
import type { EventSource } from '../domain/event-source.ts';
import type { SourceEvent } from '../domain/ledger-event.ts';

interface EventLedger {
  readonly channel: string;
  readonly source: EventSource;
  /** As after a restart of the process: it shares nothing with `source`. */
  restarted(): EventSource;
  /** Writes these ids of a mapped type in one transaction. Returns its id. */
  write(ids: readonly string[]): Promise<{ readonly transactionId: string; readonly blockNumber: number | null }>;
}

const NEVER = new AbortController().signal;

/** Reads all events after a position. */
export async function readAll(source: EventSource, channel: string, after: EventPosition): Promise<SourceEvent[]> {
  const newest = await source.newest(channel);
  const events: SourceEvent[] = [];
  for (let position = after; ;) {
    const page = await source.read(channel, position, NEVER);
    events.push(...page.events);
    if (!isBefore(position, page.position) || !isBefore(page.position, newest)) return events;
    position = page.position;
  }
}

const isBefore = (one: EventPosition, other: EventPosition): boolean =>
  one.block < other.block || (one.block === other.block && one.index < other.index);

/** What every source of events promises. */
export function describeEventSource(name: string, opened: () => EventLedger): void {
  let made = 0;
  const freshId = () => `${name} ${(made += 1)}`;
  const after = (source: EventSource, position: EventPosition) => readAll(source, opened().channel, position);

  describe(`the events of ${name}`, () => {
    it('have the transactions of the channel in order, as their writers were told', async () => {
      const { channel, source, write } = opened();
      const start = await source.newest(channel);
      const ids = [[freshId()], [freshId(), freshId(), freshId()], [freshId()]];
      const written = [];
      for (const one of ids) written.push(await write(one));
      const events = await after(source, start);
      expect(events.map(({ assets }) => assets?.map(({ id }) => id))).toEqual(ids);
      expect(events.map(({ transactionId, blockNumber }) => ({ transactionId, blockNumber }))).toEqual(written);
      for (const event of events) {
        expect(event).toMatchObject({ kind: 'commit', code: 'VALID', chaincode: 'records' });
        expect(event.at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
      }
    });

    it('resume exactly after any of them, from its cursor, after a restart', async () => {
      const { channel, source, restarted, write } = opened();
      const start = await source.newest(channel);
      await Promise.all([1, 2, 3, 4, 5].map(() => write([freshId(), freshId()])));
      const all = await after(source, start);
      const transactions = all.map(({ transactionId }) => transactionId);
      expect(new Set(transactions).size).toBe(5);
      for (const [at, { position }] of all.entries()) {
        const cursor = makeEventCursor(channel, position);
        const read = readEventCursor(channel, cursor, { in: 'query', pointer: '/from' });
        const rest = await after(restarted(), read);
        expect(rest.map(({ transactionId }) => transactionId)).toEqual(transactions.slice(at + 1));
      }
    });

    it('are the same from the first one on', async () => {
      const { source, write } = opened();
      const { transactionId } = await write([freshId()]);
      const all = await after(source, BEGINNING);
      expect(all.at(-1)?.transactionId).toBe(transactionId);
      expect(all.length).toBeGreaterThan(8);
      for (const [at, { position }] of all.slice(1).entries()) expect(isBefore(all[at]!.position, position)).toBe(true);
    });

    it('are noticed while somebody follows, and only count as behind until they are read', async () => {
      const { channel, source, write } = opened();
      const leave = source.follow(channel);
      const start = await source.newest(channel);
      const hasCome: boolean[] = [];
      const arrival = source.arrival(channel, start, NEVER).then(() => hasCome.push(true));
      await write([freshId()]);
      await arrival;
      expect(source.behind(channel, start)).toBeGreaterThan(0);
      const { events, position } = await source.read(channel, start, NEVER);
      expect(events).toHaveLength(1);
      await until(async () => source.behind(channel, position) === 0);
      leave();
    });

    it('end a wait that is given up', async () => {
      const { channel, source } = opened();
      const leave = source.follow(channel);
      const stop = new AbortController();
      const wait = source.arrival(channel, await source.newest(channel), stop.signal);
      stop.abort();
      await wait;
      leave();
    });
  });
}
