export {
  booleanField,
  checkConfigTable,
  choiceField,
  ConfigError,
  configTable,
  customField,
  integerField,
  loadConfig,
  openedOrStartError,
  StartError,
  textField,
  type Config,
  type ConfigFields,
  type Environment,
} from './load-config.ts';
export { basicsOf, cachedCheck, readiness, runSurface, WAITS_FOR_REDIS, type Basics } from './run-surface.ts';
export { ledgerFaults, ledgerFields } from './ledger-fields.ts';
export {
  listenerFaults,
  listenerFields,
  publicListenerFields,
  publicUrlFields,
  tracingFields,
} from './listener-fields.ts';
export { listText, migrationFields, operatorFields, storeFields } from './store-fields.ts';
export { runMigrations } from './run-migrations.ts';
export type { ServedApp } from './listener.ts';
export {
  startService,
  type Composition,
  type HostChecks,
  type HostConfig,
  type Own,
  type RunningService,
  type ServiceHealth,
  type ServiceOptions,
} from './start-service.ts';
export { main, NODE_OPTIONS, runService, type RunOptions } from './run-service.ts';
