import type { SurfaceChannels } from '@sealgate/ledger-embedded';
import {
  integerField,
  ledgerFaults,
  ledgerFields,
  listenerFaults,
  listenerFields,
  loadConfig,
  operatorFields,
  storeFields,
  type Config,
  type Environment,
} from '@sealgate/service-host';

/** Every variable of the gateway. The table in the README is made from this. */
export const fields = {
  ...listenerFields,
  ...storeFields,
  ...operatorFields,
  ...ledgerFields,
  bodyMaxBytes: integerField({
    name: 'BODY_MAX_BYTES',
    description: 'Largest request body, after its content encoding was undone.',
    min: 1024,
    max: 8_388_608,
    default: 1_048_576,
  }),
  maxBatchRecords: integerField({
    name: 'MAX_BATCH_RECORDS',
    description: 'Most records of one batch.',
    min: 1,
    max: 1000,
    default: 100,
  }),
  ratePerSecond: integerField({
    name: 'RATE_PER_SECOND',
    description: 'Records each second, for a network or key that has no limits of its own.',
    min: 1,
    max: 1_000_000,
    default: 1000,
  }),
  rateBurst: integerField({
    name: 'RATE_BURST',
    description: 'Records at once, likewise; at least MAX_BATCH_RECORDS.',
    min: 1,
    max: 1_000_000,
    default: 2000,
  }),
  eventRetentionDays: integerField({
    name: 'EVENT_RETENTION_DAYS',
    description: 'How long events are kept.',
    min: 1,
    max: 3650,
    default: 90,
  }),
  claimRetentionDays: integerField({
    name: 'CLAIM_RETENTION_DAYS',
    description:
      'How long the answer of an Idempotency-Key is kept by the embedded ledger. After that the same request writes nothing a second time, and is told of the records as ones that were there.',
    min: 30,
    max: 3650,
    default: 400,
  }),
};

export type GatewayConfig = Config<typeof fields>;

/** @throws ConfigError naming every fault at once. */
export function readConfig(env: Environment): GatewayConfig {
  return loadConfig(fields, env, {
    check: (config) => [...listenerFaults(config), ...ledgerFaults(config), ...gatewayFaults(config)],
  });
}

/** For the migration job: networks and their channels are made while the gateway runs. */
export function ledgerChannels(): SurfaceChannels {
  return { kind: 'unowned', reads: false };
}

function gatewayFaults({ rateBurst, maxBatchRecords }: GatewayConfig): string[] {
  return rateBurst < maxBatchRecords
    ? ['RATE_BURST: is below MAX_BATCH_RECORDS, so a full batch would never be admitted']
    : [];
}
