export {
  booleanField,
  choiceField,
  customField,
  integerField,
  textField,
  type Config,
  type ConfigField,
  type ConfigFields,
  type ValueOf,
} from './config-field.ts';
export { ConfigError, loadConfig, type Environment, type LoadOptions } from './load-config.ts';
export { cachedCheck } from './cached-check.ts';
export { checkConfigTable, configTable } from './config-table.ts';
export { ledgerFaults, listenerFaults } from './config-faults.ts';
export {
  ledgerFields,
  listenerFields,
  migrationFields,
  operatorFields,
  publicUrlFields,
  storeFields,
} from './common-fields.ts';
export { runMigrations, type MigrationJob, type RightsOrder } from './run-migrations.ts';
export type { TrustedProxies } from './trust-proxy.ts';
export { listText } from './store-urls.ts';
export type { ServedApp } from './listener.ts';
export type { Own } from './owner.ts';
export { openedOrStartError, StartError } from './start-error.ts';
export {
  startService,
  type Composition,
  type HealthCheck,
  type HostChecks,
  type HostConfig,
  type RunningService,
  type ServiceHealth,
  type ServiceOptions,
} from './start-service.ts';
export { main, runService, type RunOptions } from './run-service.ts';
export { basicsOf, readiness, runSurface, type Basics, type SurfaceConfig } from './run-surface.ts';
export { NODE_OPTIONS } from './node-options.ts';
export { tracingFields } from './tracing-fields.ts';
