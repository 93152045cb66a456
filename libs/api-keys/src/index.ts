export { apiKeyMigrations, apiKeys } from './api-keys.ts';
export type { ApiKeyRow, ApiKeys, NewApiKey } from './api-keys.ts';
export { BoundedMap } from './bounded-map.ts';
export { callersByHash } from './callers-by-hash.ts';
export type { CallersByHash } from './callers-by-hash.ts';
export { lastUsedWriter } from './last-used-writer.ts';
export type { LastUsedWriter } from './last-used-writer.ts';
export { liveKeyCondition } from './key-queries.ts';
export { TickBatcher } from './tick-batcher.ts';
