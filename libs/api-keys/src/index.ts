export { apiKeyMigrations, apiKeys, liveKeyCondition } from './api-keys.ts';
export type { ApiKeyRow, ApiKeys, NewApiKey } from './api-keys.ts';
export { BoundedMap } from './bounded-map.ts';
export { callersByHash, lastUsedWriter, TickBatcher } from './key-use.ts';
export type { CallersByHash, LastUsedWriter } from './key-use.ts';
