export { bytesLeftBehind } from './bytes-left-behind.ts';
export { expectProblem } from './expect-problem.ts';
export { openApiFaults, unreadablePatterns } from './openapi-faults.ts';
export { redisRules, type RedisForm } from './redis-rules.ts';
export { redisSite } from './redis-site.ts';
export type { RedisSite } from './redis-site.ts';
export { seedBundles } from './seed-bundles.ts';
export { slowProxy, type SlowProxy } from './slow-proxy.ts';
export { smallDisk, type SmallDisk } from './small-disk.ts';
export { testClock } from './test-clock.ts';
export type { TestClock } from './test-clock.ts';
export { testExchange } from './test-exchange.ts';
export { testIds } from './test-ids.ts';
export { testIssuer } from './test-issuer.ts';
export type { TestIssuer } from './test-issuer.ts';
export { planNodes, rowsReadBy, wholeTablesOf, type PlanNode } from './plan-nodes.ts';
export { pickPerson } from './pick-person.ts';
export { postgresPair } from './postgres-pair.ts';
export type { PostgresPair } from './postgres-pair.ts';
export { costLine, costOf, type StatementCost } from './statement-cost.ts';
export { scansOf, unboundedTimes } from './table-scans.ts';
export {
  copyDatabase,
  executeSql,
  holdLock,
  installedPostgres,
  preparedPostgres,
  throwawayPostgres,
} from './throwaway-postgres.ts';
export type { OwnPostgres, ThrowawayPostgres } from './throwaway-postgres.ts';
export { hasPgBouncer, pgBouncer, transactionPooler } from './transaction-pooler.ts';
export type { TransactionPooler } from './transaction-pooler.ts';
export { describeWithRedis, redisAvailable, throwawayRedis } from './throwaway-redis.ts';
export type { ThrowawayRedis } from './throwaway-redis.ts';
export { until } from './until.ts';
export { otlpReceiver, type OtlpReceiver, type ReceivedSpan } from './otlp-receiver.ts';
