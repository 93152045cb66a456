export { apiKeyMigrations } from './api-key-migrations.ts';
export { apiKeys } from './api-keys.ts';
export type { ApiKeyRow, ApiKeys, ApiKeysOptions, KeyPage, MintedApiKey, NewApiKey } from './api-keys.ts';
export { lastUsedWriter } from './last-used-writer.ts';
export type { LastUsedWriter, LastUsedWriterOptions } from './last-used-writer.ts';
export { liveKeyCondition } from './live-key-condition.ts';
export { TickBatcher } from './tick-batcher.ts';
export type { TickBatcherOptions } from './tick-batcher.ts';
