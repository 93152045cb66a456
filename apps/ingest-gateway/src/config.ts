import type { SurfaceChannels } from '@sealgate/ledger-embedded';
import {
  integerField,
  ledgerFaults,
  ledgerFields,
  listenerFaults,
  listenerFields,
  loadConfig,
  publicUrlFields,
  operatorFields,
  storeFields,
  type Config,
  type Environment,
} from '@sealgate/service-host';
import { DEFAULT_LIMITS, type SubmissionLimits } from './domain/read-submission.ts';

/** Every environment variable of the gateway. The table in the README is generated from this. */
export const fields = {
  ...listenerFields,
  publicUrl: {
    ...publicUrlFields.publicUrl,
    description:
      'URL of the public listener for senders: with the path of a source it is what a signature over `{url}` covers.',
  },
  ...storeFields,
  ...operatorFields,
  ...ledgerFields,
  bodyMaxBytes: integerField({
    name: 'BODY_MAX_BYTES',
    description: 'Largest request body, after decompression.',
    min: 1024,
    max: 8_388_608,
    default: 1_048_576,
  }),
  maxBatchRecords: integerField({
    name: 'MAX_BATCH_RECORDS',
    description: 'Maximum number of records in a batch.',
    min: 1,
    max: 1000,
    default: DEFAULT_LIMITS.maxBatchRecords,
  }),
  ratePerSecond: integerField({
    name: 'RATE_PER_SECOND',
    description: 'Records per second of a network or key without limits of its own.',
    min: 1,
    max: 1_000_000,
    default: 1000,
  }),
  rateBurst: integerField({
    name: 'RATE_BURST',
    description: 'Records accepted at once for a network or key without limits of its own; at least MAX_BATCH_RECORDS.',
    min: 1,
    max: 1_000_000,
    default: 2000,
  }),
  eventRetentionDays: integerField({
    name: 'EVENT_RETENTION_DAYS',
    description: 'Days that events are kept.',
    min: 1,
    max: 3650,
    default: 90,
  }),
  claimRetentionDays: integerField({
    name: 'CLAIM_RETENTION_DAYS',
    description:
      'Days that the embedded ledger keeps the claim of an Idempotency-Key. After that the same request still writes nothing twice; its receipts then have `existing` instead of the header `Idempotent-Replayed`.',
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

export const submissionLimits = ({ maxBatchRecords }: GatewayConfig): SubmissionLimits => ({ maxBatchRecords });

/** For the migration job: channels of networks are created at run time, so no fixed list is granted. */
export function ledgerChannels(): SurfaceChannels {
  return { kind: 'unowned', reads: false };
}

function gatewayFaults({ rateBurst, maxBatchRecords }: GatewayConfig): string[] {
  return rateBurst < maxBatchRecords
    ? ['RATE_BURST: is below MAX_BATCH_RECORDS, so a full batch would never be admitted']
    : [];
}
