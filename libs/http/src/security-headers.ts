import assert from 'node:assert/strict';
import type { IncomingMessage, ServerResponse } from 'node:http';
import helmet from 'helmet';

/**
 * Helmet's default headers as a flat list of names and values, for `writeHead`.
 *
 * Helmet runs once, against a response that only takes notes: its headers are the same for every request, and running it
 * for each one costs more than all else this library does.
 */
export function securityHeaders(): readonly string[] {
  const recorded: string[] = [];
  const response = {
    setHeader(name: string, value: string) {
      recorded.push(name, value);
    },
    removeHeader: () => undefined,
  };
  let finished = false;
  // Helmet's defaults look at nothing of the request and only set and remove headers of the response.
  helmet()({} as IncomingMessage, response as unknown as ServerResponse, (error?: unknown) => {
    assert(error === undefined, 'Helmet must accept its own defaults.');
    finished = true;
  });
  assert(finished, 'Helmet must finish at once.');
  assert(recorded.length > 0, 'Helmet must set headers.');
  return recorded;
}
