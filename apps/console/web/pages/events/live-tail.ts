import { useEffect, useState } from 'react';
import { consoleFetch } from '../../shell/console-fetch.ts';
import type { IngestEvent } from './event-list.tsx';

/** So many stay on the page; older ones are in the list. */
const MOST_SHOWN = 200;

export interface LiveTail {
  /** Newest first; an event that changes its state is there once. */
  readonly events: readonly IngestEvent[];
  /** `refused`: the service did not let the browser watch, and it does not try again by itself. */
  readonly state: 'connecting' | 'open' | 'refused';
  /** Events were left out, since there were too many at once or the connection was away for long. */
  readonly missed: boolean;
}

const nothing: LiveTail = { events: [], state: 'connecting', missed: false };

/** Puts an event where it belongs: on top, or in place of what was known of it. */
export function withEvent(events: readonly IngestEvent[], event: IngestEvent): readonly IngestEvent[] {
  const known = events.findIndex(({ eventId }) => eventId === event.eventId);
  if (known >= 0) return events.with(known, event);
  return [event, ...events].slice(0, MOST_SHOWN);
}

/**
 * Events as they are written (server-sent events). The browser connects again by itself and goes on where it was, but where
 * it was refused: then `again` does, and what was written meanwhile is missed.
 */
export function useLiveTail(query: Readonly<Record<string, string>>): LiveTail & { readonly again: () => void } {
  const [tail, setTail] = useState(nothing);
  const [tries, setTries] = useState(0);
  const address = `/admin/ingest-gateway/admin/v1/events/tail?${new URLSearchParams(query).toString()}`;
  useEffect(() => {
    setTail((before) => (tries === 0 ? nothing : { ...before, state: 'connecting', missed: true }));
    const source = new EventSource(address);
    source.addEventListener('open', () => setTail((before) => ({ ...before, state: 'open' })));
    source.addEventListener('error', () => {
      const isOver = source.readyState === EventSource.CLOSED;
      setTail((before) => ({ ...before, state: isOver ? 'refused' : 'connecting' }));
      // The browser does not tell why; where the session has ended, this request announces it.
      if (isOver) void consoleFetch('/admin/ingest-gateway/admin/v1/whoami').catch(() => undefined);
    });
    source.addEventListener('gap', () => setTail((before) => ({ ...before, missed: true })));
    source.addEventListener('event', (message: MessageEvent<string>) => {
      const event = JSON.parse(message.data) as IngestEvent;
      setTail((before) => ({ ...before, events: withEvent(before.events, event) }));
    });
    return () => source.close();
  }, [address, tries]);
  return { ...tail, again: () => setTries((before) => before + 1) };
}
