import { noteSigner, noteVerifier } from '@sealgate/merkle';
import type { Log, Metrics } from '@sealgate/observability';
import type { Database } from '@sealgate/storage';
import { embeddedLedger, type EmbeddedLedger } from './embedded-ledger.ts';
import type { OnResult } from './append-group.ts';
import { Integrator } from './integrator.ts';
import { LedgerCorruptError } from './ledger-corrupt-error.ts';
import { savedCheckpoints } from './saved-checkpoints.ts';

export interface OpenLedgerOptions {
  /** What `ledgerFields` of a surface say. */
  readonly config: {
    readonly ledgerOrigin: string;
    readonly ledgerIntegrator: boolean;
    readonly ledgerSigningKey: string | undefined;
    readonly checkpointDir: string | undefined;
  };
  readonly sql: Database;
  /** Milliseconds since the epoch; fractions are cut. */
  readonly now: () => number;
  readonly log: Log;
  readonly metrics: Metrics;
  /** See `EmbeddedLedgerOptions`. */
  readonly appendFunction?: string;
  readonly onResult?: OnResult;
  /** Registers what to let go of, in reverse. */
  readonly own: (name: string, release: () => void | Promise<void>) => void;
}

/** The ledger must not be opened like this: a sentence for an operator. */
export class LedgerNotOpenedError extends Error {
  override readonly name = 'LedgerNotOpenedError';
}

const LEAVES_AT_ONCE = 65_536;
const EVERY_MS = 100;
const TRANSACTION_WITHIN_MS = 10_000;

/**
 * The ledger of a surface with its log lines and metrics, and with an integrator in the processes that run one.
 * @throws LedgerNotOpenedError when the signing key is not this ledger's, or the log is not as it was left.
 */
export async function openEmbeddedLedger(options: OpenLedgerOptions): Promise<EmbeddedLedger> {
  const { config, sql, log, metrics, own } = options;
  const now = () => Math.floor(options.now());
  const signing = openIntegrator({ ...options, now });
  const ledger = embeddedLedger({
    sql,
    origin: config.ledgerOrigin,
    ...(options.appendFunction === undefined ? {} : { appendFunction: options.appendFunction }),
    now,
    onUnexpected: (error) => log.error('append_refused', { reason: String(error) }),
    onResult: countStored(metrics, options.onResult),
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

/** Counts what the ledger gained, so that it can be seen that nobody signs for it. */
function countStored(metrics: Metrics, onResult: OnResult | undefined): OnResult {
  const help = 'Records that the ledger gained through this process.';
  const stored = metrics.counter({ name: 'ledger_stored_records_total', help, labels: {} }).child({});
  return (result, of) => {
    if (result.outcome === 'written') stored.inc(result.records.filter(({ existing }) => !existing).length);
    onResult?.(result, of);
  };
}

/** Undefined where this process does not integrate: then it knows no key, and checks no signature. */
function openIntegrator({ config, sql, now, log, metrics }: Omit<OpenLedgerOptions, 'own' | 'onResult'>) {
  const { ledgerIntegrator, ledgerSigningKey, ledgerOrigin: origin, checkpointDir } = config;
  if (!ledgerIntegrator || ledgerSigningKey === undefined || checkpointDir === undefined) return undefined;
  const signer = signerOf(ledgerSigningKey);
  if (signer.name !== origin)
    throw new LedgerNotOpenedError('LEDGER_SIGNING_KEY is of another ledger than LEDGER_ORIGIN.');
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
    throw new LedgerNotOpenedError('LEDGER_SIGNING_KEY is not a C2SP note key.', { cause });
  }
}

/** A ledger that is not as it was left is for an operator to look at; nothing is written to it meanwhile. */
async function start(integrator: Integrator): Promise<void> {
  try {
    await integrator.start();
  } catch (error) {
    if (!(error instanceof LedgerCorruptError)) throw error;
    throw new LedgerNotOpenedError(`The ledger must not be continued. ${error.message}`, { cause: error });
  }
}
