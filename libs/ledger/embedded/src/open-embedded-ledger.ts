import { anyOf, noteSigner, noteVerifier, type NoteVerifier } from '@sealgate/merkle';
import { backgroundLoop, openDatabase, openLookPool, reasonOf, type Database, type Sql } from '@sealgate/storage';
import { countStored } from './append-group.ts';
import { ArchiveFiles } from './archive/archive-files.ts';
import { Archiver } from './archive/archiver.ts';
import { checkedCheckpoints } from './checked-checkpoint.ts';
import { isOutage } from './database-problem.ts';
import { embeddedLedger, type EmbeddedLedger } from './embedded-ledger.ts';
import { Integrator } from './integrator.ts';
import { LedgerCorruptError } from './ledger-corrupt-error.ts';
import { keepPartitionsAhead } from './partitions.ts';
import { savedCheckpoints } from './saved-checkpoints.ts';
import { keepCosigning, openWitnessing, startPublishing, type Witnessing } from './witnessing.ts';
import type { WitnessPolicy } from './explore-ledger.ts';
import type { OpenLedgerOptions } from './open-ledger-options.ts';

export interface OpenedEmbeddedLedger extends EmbeddedLedger {
  /** The same ledger with the operator's rights. */
  readonly administration: EmbeddedLedger;
}

/** The configuration does not fit the ledger; the message is for an operator. */
export class LedgerNotOpenedError extends Error {
  override readonly name = 'LedgerNotOpenedError';
}

const LEAVES_AT_ONCE = 65_536;
const EVERY_MS = 100;
const COMPARE_EVERY_MS = 60_000;
const TRANSACTION_WITHIN_MS = 10_000;
const RIGHTS_WITHIN_MS = 500;
/** Interval for erasures that were not written to their files at once. */
const WRITE_ERASURES_EVERY_MS = 60_000;

/**
 * Opens the ledger of a surface with logging and metrics, and with an integrator if the process runs one.
 * @throws LedgerNotOpenedError if the signing key is not this ledger's.
 */
export async function openEmbeddedLedger(options: OpenLedgerOptions): Promise<OpenedEmbeddedLedger> {
  const { config, sql, look = sql, background = sql, log, metrics, own } = options;
  const now = () => Math.floor(options.now());
  const witnessing = openWitnessing({ ...options, sql: background, now }, anyOf(verifiersOf(config)));
  const integrator = openIntegrator({ ...options, sql: background, now }, witnessing);
  const verifier = anyOf(verifiersOf(config));
  const reading = {
    origin: config.ledgerOrigin,
    verifierKeys: verifierKeysOf(config),
    witnessPolicies: witnessPoliciesOf(config),
    now: options.now,
    ...(verifier === undefined ? {} : { verifier }),
    ...(integrator === undefined ? {} : { integrator }),
    ...(config.ledgerArchiveDir === undefined ? {} : { archive: new ArchiveFiles(config.ledgerArchiveDir) }),
  };
  const ledger = embeddedLedger({
    ...reading,
    sql,
    look,
    ...(options.appendFunctions === undefined ? {} : { appendFunctions: options.appendFunctions }),
    onUnexpected: (error) => log.error('append_refused', { reason: String(error) }),
    onResult: countStored(metrics, options.onResult),
  });
  metrics.observedGauge({
    name: 'ledger_waiting_units',
    help: 'Units queued or being written.',
    read: () => ledger.depth,
  });
  own('partitions', keepPartitionsAhead(background, { log, metrics }));
  own('ledger', () => ledger.drain());
  if (integrator !== undefined) {
    own('integrator', () => integrator.stop());
    const { whenReady = (begin) => begin() } = options;
    await whenReady(async () => {
      await mayIntegrate(background);
      await start(integrator);
    });
    await whenReady(() => startPublishing(background, witnessing));
    if (witnessing !== undefined) own('witnesses', keepCosigning(witnessing, log));
  }
  const admin = openAdminDatabase(options);
  const operator = { ...reading, ...(admin ?? { sql, look }), declareSql: sql };
  const archiver = openArchiver({ ...options, now }, operator);
  if (archiver === undefined && admin === undefined) return Object.assign(ledger, { administration: ledger });
  const administration = embeddedLedger({ ...operator, ...(archiver === undefined ? {} : { archiver }) });
  return Object.assign(ledger, { administration });
}

/** The process that signs checkpoints is the only writer of the archive. Undefined in every other process. */
function openArchiver(
  { config, now, log, metrics, own }: OpenLedgerOptions,
  {
    integrator,
    archive,
    verifier,
    sql,
    origin,
  }: {
    readonly sql: Database;
    readonly integrator?: Integrator | undefined;
    readonly archive?: ArchiveFiles;
    readonly verifier?: NoteVerifier;
    readonly origin: string;
  },
): Archiver | undefined {
  if (integrator === undefined || archive === undefined || config.ledgerSigningKey === undefined) return undefined;
  const logUnwritten = (error: unknown) => log.error('archive_erasure_unwritten', { reason: reasonOf(error) });
  const archiver = new Archiver({
    sql,
    files: archive,
    origin,
    signer: signerOf(config.ledgerSigningKey),
    checked: checkedCheckpoints(origin, verifier),
    compare: (channel) => integrator.compare(channel),
    now,
    onError: logUnwritten,
  });
  metrics.observedGauge({
    name: 'ledger_unwritten_erasures',
    help: 'Archive files and channels that still hold erased content because they could not be rewritten.',
    read: () => archiver.unwritten,
  });
  const loop = backgroundLoop({
    work: () => archiver.writeErasures(),
    pauseMs: WRITE_ERASURES_EVERY_MS,
    // Readiness reports database outages.
    onFailure: (error) => isOutage(error) || logUnwritten(error),
  });
  own('archive', () => loop.stop());
  return archiver;
}

const ADMIN_CONNECTIONS = 3;

/**
 * The operator's connections: a third looks, so that nobody who reads keeps an erasure or an audit waiting. Undefined if
 * only the role of the service is configured.
 */
function openAdminDatabase({ config, log, own, sql: { timelines } }: OpenLedgerOptions) {
  const { adminDatabaseUrl: url, adminPort, adminDatabasePoolSize, databasePreparedStatements } = config;
  if (url === undefined || adminPort === undefined) return undefined;
  const total = adminDatabasePoolSize ?? ADMIN_CONNECTIONS;
  const looking = Math.max(1, Math.floor(total / 3));
  const options = {
    url,
    connectTimeoutMs: 5000,
    timelines,
    preparedStatements: databasePreparedStatements,
    onIdleError: (error: Error) => log.warn('database_connection_lost', { reason: error.message }),
  };
  const deciding = {
    applicationName: 'sealgate admin',
    maxConnections: Math.max(1, total - looking),
    deadlineMs: 2000,
  };
  const sql = openDatabase({ ...options, ...deciding });
  own('admin database', () => sql.close());
  const look = openLookPool({ ...options, applicationName: 'sealgate admin look', maxConnections: looking });
  own('admin database look', () => look.close());
  return { sql, look };
}

/** Describes a missing right to append to one of these channels, if any; '' stands for channels not yet created. */
export async function missingRights(sql: Sql, channels: readonly string[]): Promise<string | undefined> {
  const text = `SELECT c AS channel FROM unnest($1::text[]) c WHERE NOT 'append' = ANY (ledger.rights(c)) LIMIT 1`;
  const [row] = await sql.query<{ channel: string }>({ text, values: [channels] }, { deadlineMs: RIGHTS_WITHIN_MS });
  if (row === undefined) return undefined;
  const where = row.channel === '' ? 'the ledger' : `the channel ${row.channel}`;
  return `the role of DATABASE_URL may not append to ${where}: run the migration job with the variables of this service`;
}

/** Fails the start with a clear message, before the first round would fail. */
async function mayIntegrate(sql: Database): Promise<void> {
  const text = `SELECT 'integrate' = ANY (ledger.rights('')) AS may`;
  const [row] = await sql.query<{ may: boolean }>({ text });
  if (row?.may === true) return;
  throw new LedgerNotOpenedError(
    'The role of DATABASE_URL may not build the tree: run the migration job with LEDGER_INTEGRATOR=true.',
  );
}

/** Keys that verify checkpoints: those of this process if it signs, and the configured ones. */
function verifierKeysOf({ ledgerIntegrator, ledgerSigningKey, ledgerVerifierKeys }: OpenLedgerOptions['config']) {
  const own = ledgerIntegrator && ledgerSigningKey !== undefined ? signerOf(ledgerSigningKey).verifierKeys : [];
  return [...new Set([...own, ...ledgerVerifierKeys])];
}

function verifiersOf(config: OpenLedgerOptions['config']) {
  return verifierKeysOf(config).map((key): NoteVerifier => {
    try {
      return noteVerifier(key);
    } catch (cause) {
      throw new LedgerNotOpenedError('LEDGER_VERIFIER_KEYS holds an invalid C2SP verifier key.', { cause });
    }
  });
}

/** Undefined if this process does not integrate. */
function openIntegrator(
  { config, sql, now, log, metrics }: Omit<OpenLedgerOptions, 'own' | 'onResult'>,
  witnessing: Witnessing | undefined,
) {
  const { ledgerIntegrator, ledgerSigningKey, ledgerOrigin: origin, checkpointDir, ledgerArchiveDir } = config;
  if (!ledgerIntegrator || ledgerSigningKey === undefined || checkpointDir === undefined) return undefined;
  const signer = signerOf(ledgerSigningKey);
  if (signer.name !== origin)
    throw new LedgerNotOpenedError('LEDGER_SIGNING_KEY belongs to another ledger than LEDGER_ORIGIN.');
  // Checkpoints signed by a previous key are continued if that key is still published.
  const verifier = anyOf(verifiersOf(config)) ?? noteVerifier(signer.verifierKey);
  const count = (name: string, help: string) => metrics.counter({ name, help, labels: {} }).child({});
  const archive = ledgerArchiveDir === undefined ? undefined : new ArchiveFiles(ledgerArchiveDir);
  const signed = count('ledger_checkpoints_total', 'Checkpoints signed by this process.');
  const integrator = new Integrator({
    sql,
    signer,
    verifier,
    origin,
    leavesAtOnce: LEAVES_AT_ONCE,
    deadlineMs: TRANSACTION_WITHIN_MS,
    everyMs: EVERY_MS,
    compareEveryMs: COMPARE_EVERY_MS,
    now,
    saved: savedCheckpoints(checkpointDir, now, archive && ((channel) => archive.readableCheckpoint(channel))),
    onSigned: (of, note) => {
      signed.inc();
      witnessing?.offer(of, note);
    },
    onHalted: (channel, problem) => log.error('ledger_halted', { channel, problem }),
    onResumed: (channel) => log.warn('ledger_resumed', { channel }),
    onError: (error) =>
      log.error('integrator_failed', { reason: error instanceof Error ? (error.stack ?? '') : String(error) }),
  });
  metrics.observedGauge({
    name: 'ledger_halted_channels',
    help: 'Channels halted because they differ from what was signed.',
    read: () => integrator.halted.size,
  });
  return integrator;
}

function signerOf(privateKey: string) {
  try {
    return noteSigner(privateKey);
  } catch (cause) {
    throw new LedgerNotOpenedError('LEDGER_SIGNING_KEY is not a C2SP note key.', { cause });
  }
}

/** Checkpoints kept by another key need an operator. A ledger that lost records is opened, but signs nothing. */
async function start(integrator: Integrator): Promise<void> {
  try {
    await integrator.start();
  } catch (error) {
    if (!(error instanceof LedgerCorruptError)) throw error;
    throw new LedgerNotOpenedError(`The ledger must not be continued. ${error.message}`, { cause: error });
  }
}

function witnessPoliciesOf({
  ledgerWitnesses,
  ledgerChannelWitnesses = new Map(),
}: OpenLedgerOptions['config']): WitnessPolicy[] {
  const ofAll = ledgerWitnesses === undefined ? [] : [{ channel: null, policy: ledgerWitnesses.text }];
  return [...ofAll, ...[...ledgerChannelWitnesses].map(([channel, { text }]) => ({ channel, policy: text }))];
}
