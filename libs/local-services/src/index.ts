export { removeCluster } from './cluster-location.ts';
export { freePort, isPortFree } from './free-port.ts';
export { LocalServiceError, explainFileError, systemCodeOf } from './local-service-error.ts';
export { stopOrphanedPostgres } from './postmaster-pid.ts';
export { commandLineOf, endProcess, isAlive, startOfProcess, waitUntilGone } from './processes.ts';
export { builtRedisFolder, findRedisServer, startRedis } from './redis.ts';
export type { LocalRedis, RedisOptions } from './redis.ts';
export { startPostgres } from './start-postgres.ts';
export type { LocalPostgres, PostgresOptions } from './start-postgres.ts';
