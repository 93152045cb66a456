export { apiKeyMigrations, apiKeys, liveKeyCondition } from './api-keys.ts';
export type { ApiKeys } from './api-keys.ts';
export { BoundedMap } from './bounded-map.ts';
export { callersByHash, lastUsedWriter, TickBatcher } from './key-use.ts';
export type { CallersByHash, LastUsedWriter } from './key-use.ts';
