export { backgroundLoop, reasonOf, startTimer } from './background-loop.ts';
export type { BackgroundLoop, BackgroundLoopOptions } from './background-loop.ts';
export { byteaArray, ElementWriter, int4Array, int8Array, joinedArray, textArray } from './binary-array.ts';
export { openDatabase } from './database.ts';
export { openLookPool, openPools, poolSizes, type Pools } from './pools.ts';
export type { Database, DatabaseOptions } from './database.ts';
export { databaseCheck } from './database-check.ts';
export type { DatabaseCheck } from './database-check.ts';
export {
  DatabaseFullError,
  DatabaseRefusedError,
  DatabaseUnavailableError,
  isDeadlock,
  isUniqueViolation,
} from './database-errors.ts';
export { forClient, forEverybody } from './looking.ts';
export { migrate } from './migrate.ts';
export type { MigrateOptions } from './migrate.ts';
export { MigrationError, migrationSet } from './migration-set.ts';
export type { MigrationSet } from './migration-set.ts';
export { openRedis } from './open-redis.ts';
export type { RedisHandle, RedisState } from './open-redis.ts';
export { redisProblem, redisRefusal } from './redis-problem.ts';
export { removalStatement, removalStep, removeInSteps, retain } from './retention.ts';
export type { Removal, RemovalStep } from './retention.ts';
export { forClients, isReachable, mapRouteOutages, mapOutages } from './map-outages.ts';
export { acceptTimeline, describeServers } from './accept-timeline.ts';
export type { ServerReport } from './accept-timeline.ts';
export { timelineMemory } from './timeline-memory.ts';
export type { TimelineEvent, TimelineMemory } from './timeline-memory.ts';
export { confirmRows } from './transaction.ts';
export { writeBehind } from './write-behind.ts';
export type { QueryOptions, Sql, Statement } from './sql.ts';
