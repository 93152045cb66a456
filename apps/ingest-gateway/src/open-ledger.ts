import {
  embeddedLedger,
  Integrator,
  LedgerCorruptError,
  savedCheckpoints,
  type EmbeddedLedger,
  type OnResult,
} from '@sealgate/ledger-embedded';
import { noteSigner, noteVerifier } from '@sealgate/merkle';
import type { Log, Metrics } from '@sealgate/observability';
import { StartError, type Own } from '@sealgate/service-host';
import type { Database } from '@sealgate/storage';
import type { GatewayConfig } from './config.ts';
import { SCHEMA } from './ingest-migrations.ts';

export interface OpenLedgerOptions {
  readonly config: Pick<GatewayConfig, 'ledgerIntegrator' | 'ledgerSigningKey' | 'ledgerOrigin' | 'checkpointDir'>;
  readonly sql: Database;
  readonly now: () => number;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly own: Own;
  readonly onResult: OnResult;
}

const LEAVES_AT_ONCE = 65_536;
const EVERY_MS = 100;
const TRANSACTION_WITHIN_MS = 10_000;

/**
 * The ledger, with an integrator in the processes that run one. Appending goes through this surface's own function, so
 * that the event of a request is in the transaction of its records.
 *
 * @throws StartError when the signing key is not this ledger's, or the log is not as it was left.
 */
export async function openLedger(options: OpenLedgerOptions): Promise<EmbeddedLedger> {
  const { config, sql, log, metrics, own, onResult } = options;
  const now = () => Math.floor(options.now());
  const signing = openIntegrator({ ...options, now });
  const ledger = embeddedLedger({
    sql,
    origin: config.ledgerOrigin,
    appendFunction: `${SCHEMA}.append_v1`,
    now,
    onUnexpected: (error) => log.error('append_refused', { reason: String(error) }),
    onResult,
    ...signing,
  });
  const depth = { name: 'ledger_waiting_units', help: 'Units that wait or are being written.', labels: {} };
  metrics.gauge({ ...depth, collect: (gauge) => gauge.set({}, ledger.depth) });
  own('ledger', () => ledger.drain());
  if (signing !== undefined) {
    await start(signing.integrator);
    own('integrator', () => signing.integrator.stop());
  }
  return ledger;
}

/** Undefined where this process does not integrate: then it knows no key, and checks no signature. */
function openIntegrator({ config, sql, now, log, metrics }: Omit<OpenLedgerOptions, 'own' | 'onResult'>) {
  const { ledgerIntegrator, ledgerSigningKey, ledgerOrigin: origin, checkpointDir } = config;
  if (!ledgerIntegrator || ledgerSigningKey === undefined || checkpointDir === undefined) return undefined;
  const signer = signerOf(ledgerSigningKey);
  if (signer.name !== origin) throw new StartError('LEDGER_SIGNING_KEY is of another ledger than LEDGER_ORIGIN.');
  const verifier = noteVerifier(signer.verifierKey);
  const count = (name: string, help: string) => metrics.counter({ name, help, labels: {} }).child({});
  const signed = count('ledger_checkpoints_total', 'Checkpoints signed by this process.');
  const halted = count('ledger_halted_channels_total', 'Channels that this process refuses to sign for.');
  const integrator = new Integrator({
    sql,
    signer,
    verifier,
    origin,
    leavesAtOnce: LEAVES_AT_ONCE,
    deadlineMs: TRANSACTION_WITHIN_MS,
    everyMs: EVERY_MS,
    saved: savedCheckpoints(checkpointDir, now),
    onSigned: () => signed.inc(),
    onHalted: (channel, problem) => {
      halted.inc();
      log.error('ledger_halted', { channel, problem });
    },
    onError: (error) =>
      log.error('integrator_failed', { reason: error instanceof Error ? (error.stack ?? '') : String(error) }),
  });
  return { integrator, verifier };
}

function signerOf(privateKey: string) {
  try {
    return noteSigner(privateKey);
  } catch (cause) {
    throw new StartError('LEDGER_SIGNING_KEY is not a C2SP note key.', { cause });
  }
}

/** A ledger that is not as it was left is for an operator to look at; nothing is written to it meanwhile. */
async function start(integrator: Integrator): Promise<void> {
  try {
    await integrator.start();
  } catch (error) {
    if (error instanceof LedgerCorruptError) throw new StartError(`The ledger must not be continued. ${error.message}`);
    throw error;
  }
}
