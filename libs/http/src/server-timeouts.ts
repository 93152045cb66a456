/**
 * Options for the HTTP server of an app: headers within 10 s, the whole request within 30 s, looked at every 5 s. A body
 * that is late is answered with a problem where `attachTo` was used; late headers are refused by Node's parser.
 */
export const SERVER_TIMEOUTS = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  connectionsCheckingInterval: 5_000,
  keepAliveTimeout: 65_000,
} as const;

/** As long as a whole request may take. */
export const SLOW_READER_MS = 30_000;
