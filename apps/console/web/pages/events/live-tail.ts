import { useEffect, useState } from 'react';
import { consoleFetch } from '../../shell/console-fetch.ts';
import type { Schemas } from '@sealgate/client';

export type IngestEvent = Schemas['ingestGatewayAdmin']['IngestEvent'];
export type RefusedOfSource = Schemas['ingestGatewayAdmin']['RefusedDeliveryOfSource'];
/** A message of the tail: a write or ping, or a delivery that was refused. */
export type TailRow = IngestEvent | RefusedOfSource;

export const isRefused = (row: TailRow): row is RefusedOfSource => 'refusedId' in row;
export const idOf = (row: TailRow): string => (isRefused(row) ? row.refusedId : row.eventId);

/** Maximum number of events on the page; older ones are in the list. */
const MAX_SHOWN = 200;

interface LiveTail {
  /** Newest first; an event that changes its state is listed once. */
  readonly events: readonly TailRow[];
  /** `refused`: the service refused the stream, and there is no automatic retry. */
  readonly state: 'connecting' | 'open' | 'refused';
  /** Events were dropped: too many at once, or the connection was down too long. */
  readonly missed: boolean;
}

const nothing: LiveTail = { events: [], state: 'connecting', missed: false };

/** Adds an event at the top, or updates it in place. */
function withEvent(events: readonly TailRow[], event: TailRow): readonly TailRow[] {
  const known = events.findIndex((row) => idOf(row) === idOf(event));
  if (known >= 0) return events.with(known, event);
  return [event, ...events].slice(0, MAX_SHOWN);
}

/**
 * Live events (server-sent events). The browser reconnects and resumes by itself, except after a refusal: then `again`
 * reconnects, and events in between are missed.
 */
export function useLiveTail(query: Readonly<Record<string, string>>): LiveTail & { readonly again: () => void } {
  const [tail, setTail] = useState(nothing);
  const [tries, setTries] = useState(0);
  const address = `/admin/ingest-gateway/admin/v1/events/tail?${new URLSearchParams({ ...query, refused: 'true' }).toString()}`;
  useEffect(() => {
    setTail((before) => (tries === 0 ? nothing : { ...before, state: 'connecting', missed: true }));
    const source = new EventSource(address);
    source.addEventListener('open', () => setTail((before) => ({ ...before, state: 'open' })));
    source.addEventListener('error', () => {
      const isOver = source.readyState === EventSource.CLOSED;
      setTail((before) => ({ ...before, state: isOver ? 'refused' : 'connecting' }));
      // The browser does not report the reason; if the session has ended, this request detects it.
      if (isOver) void consoleFetch('/admin/ingest-gateway/admin/v1/whoami').catch(() => undefined);
    });
    source.addEventListener('gap', () => setTail((before) => ({ ...before, missed: true })));
    for (const name of ['event', 'refused'])
      source.addEventListener(name, (message: MessageEvent<string>) => {
        const row = JSON.parse(message.data) as TailRow;
        setTail((before) => ({ ...before, events: withEvent(before.events, row) }));
      });
    return () => source.close();
  }, [address, tries]);
  return { ...tail, again: () => setTries((before) => before + 1) };
}
