import { PipelinedMessage } from './pipelines.ts';

/**
 * Options for the HTTP server of an app: headers within 10 s, the whole request within 30 s, looked at every 5 s. A body
 * that is late is answered with a problem where `attachTo` was used; late headers are refused by Node's parser. A request
 * without Host is refused by `attachTo` too, which bounds how many are answered at once.
 */
export const SERVER_OPTIONS = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  connectionsCheckingInterval: 5_000,
  keepAliveTimeout: 65_000,
  requireHostHeader: false,
  IncomingMessage: PipelinedMessage,
} as const;

/** How long a client may take nothing of what it was answered. */
export const SLOW_READER_MS = 10_000;
