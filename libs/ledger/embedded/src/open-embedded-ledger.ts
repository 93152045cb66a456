import { anyOf, noteSigner, noteVerifier, type LogPolicy, type NoteVerifier } from '@sealgate/merkle';
import type { Log, Metrics } from '@sealgate/observability';
import { backgroundLoop, openDatabase, reasonOf, type Database, type Sql } from '@sealgate/storage';
import { ArchiveFiles } from './archive-files.ts';
import { Archiver } from './archiver.ts';
import { checkedCheckpoints } from './checked-checkpoint.ts';
import { isOutage } from './database-problem.ts';
import { embeddedLedger, type EmbeddedLedger } from './embedded-ledger.ts';
import type { OnResult } from './append-group.ts';
import type { AppendFunctions } from './append-statement.ts';
import { Integrator } from './integrator.ts';
import { LedgerCorruptError } from './ledger-corrupt-error.ts';
import { keepPartitionsAhead } from './partitions.ts';
import { savedCheckpoints } from './saved-checkpoints.ts';
import { keepCosigning, openWitnessing, publishing } from './open-witnessing.ts';
import type { Witnessing } from './witnessing.ts';

export interface OpenLedgerOptions {
  /** What `ledgerFields` of a surface say. */
  readonly config: {
    readonly ledgerOrigin: string;
    readonly ledgerIntegrator: boolean;
    readonly ledgerSigningKey: string | undefined;
    readonly ledgerVerifierKeys: readonly string[];
    readonly checkpointDir: string | undefined;
    readonly ledgerWitnesses?: LogPolicy | undefined;
    readonly ledgerWitnessWaitMs?: number;
    readonly ledgerArchiveDir?: string | undefined;
    /** Of the surfaces whose admin listener has the ledger: see `administration`. */
    readonly adminDatabaseUrl?: string | undefined;
    readonly adminPort?: number | undefined;
    readonly adminDatabasePoolSize?: number;
    readonly databasePreparedStatements?: boolean | undefined;
  };
  readonly sql: Database;
  /** Milliseconds since the epoch; fractions are cut. */
  readonly now: () => number;
  readonly log: Log;
  readonly metrics: Metrics;
  /** See `EmbeddedLedgerOptions`. */
  readonly appendFunctions?: AppendFunctions;
  readonly onResult?: OnResult;
  /** Runs `begin` as soon as the database can be worked with: `whenReady` of a DatabaseCheck. At once, unless given. */
  readonly whenReady?: (begin: () => Promise<void>) => Promise<void>;
  /** Registers what to let go of, in reverse. */
  readonly own: (name: string, release: () => void | Promise<void>) => void;
}

export interface OpenedEmbeddedLedger extends EmbeddedLedger {
  /** The same ledger with the rights of the operator. */
  readonly administration: EmbeddedLedger;
}

/** The ledger must not be opened like this: a sentence for an operator. */
export class LedgerNotOpenedError extends Error {
  override readonly name = 'LedgerNotOpenedError';
}

const LEAVES_AT_ONCE = 65_536;
const EVERY_MS = 100;
const COMPARE_EVERY_MS = 60_000;
const TRANSACTION_WITHIN_MS = 10_000;
const RIGHTS_WITHIN_MS = 500;
/** Beside those that an erasure in this process writes at once. */
const WRITE_ERASURES_EVERY_MS = 60_000;

/**
 * The ledger of a surface with its log lines and metrics, and with an integrator in the processes that run one.
 * @throws LedgerNotOpenedError when the signing key is not this ledger's.
 */
export async function openEmbeddedLedger(options: OpenLedgerOptions): Promise<OpenedEmbeddedLedger> {
  const { config, sql, log, metrics, own } = options;
  const now = () => Math.floor(options.now());
  const witnessing = openWitnessing({ ...options, now }, anyOf(verifiersOf(config)));
  const integrator = openIntegrator({ ...options, now }, witnessing);
  const verifier = anyOf(verifiersOf(config));
  const reading = {
    origin: config.ledgerOrigin,
    verifierKeys: verifierKeysOf(config),
    now,
    ...(verifier === undefined ? {} : { verifier }),
    ...(integrator === undefined ? {} : { integrator }),
    ...(config.ledgerArchiveDir === undefined ? {} : { archive: new ArchiveFiles(config.ledgerArchiveDir) }),
  };
  const ledger = embeddedLedger({
    ...reading,
    sql,
    ...(options.appendFunctions === undefined ? {} : { appendFunctions: options.appendFunctions }),
    onUnexpected: (error) => log.error('append_refused', { reason: String(error) }),
    onResult: countStored(metrics, options.onResult),
  });
  const depth = { name: 'ledger_waiting_units', help: 'Units that wait or are being written.', labels: {} };
  metrics.gauge({ ...depth, aggregator: 'sum', collect: (gauge) => gauge.set({}, ledger.depth) });
  own('partitions', keepPartitionsAhead(sql, { log, metrics }));
  own('ledger', () => ledger.drain());
  if (integrator !== undefined) {
    own('integrator', () => integrator.stop());
    const { whenReady = (begin) => begin() } = options;
    await whenReady(async () => {
      await mayIntegrate(sql);
      await start(integrator);
    });
    await whenReady(() => publishing(sql, witnessing));
    if (witnessing !== undefined) own('witnesses', keepCosigning(witnessing, log));
  }
  const adminSql = openAdminDatabase(options);
  const operator = { ...reading, sql: adminSql ?? sql, declareSql: sql };
  const archiver = openArchiver({ ...options, now }, operator);
  if (archiver === undefined && adminSql === undefined) return Object.assign(ledger, { administration: ledger });
  const administration = embeddedLedger({ ...operator, ...(archiver === undefined ? {} : { archiver }) });
  return Object.assign(ledger, { administration });
}

/** The archive has one writer: who signs checkpoints. Undefined in every other process. */
function openArchiver(
  { config, now, log, metrics, own }: OpenLedgerOptions,
  { integrator, archive, verifier, sql, origin }: ArchiverParts,
): Archiver | undefined {
  if (integrator === undefined || archive === undefined || config.ledgerSigningKey === undefined) return undefined;
  const tell = (error: unknown) => log.error('archive_erasure_unwritten', { reason: reasonOf(error) });
  const archiver = new Archiver({
    sql,
    files: archive,
    origin,
    signer: signerOf(config.ledgerSigningKey),
    checked: checkedCheckpoints(origin, verifier),
    compare: (channel) => integrator.compare(channel),
    now,
    onError: tell,
  });
  const help = 'Files of the archive, and channels, that hold what was erased and could not be written anew.';
  metrics.gauge({
    name: 'ledger_unwritten_erasures',
    aggregator: 'max',
    help,
    labels: {},
    collect: (gauge) => gauge.set({}, archiver.unwritten),
  });
  const loop = backgroundLoop({
    work: () => archiver.writeErasures(),
    pauseMs: WRITE_ERASURES_EVERY_MS,
    // Readiness tells of a database that is away.
    onFailure: (error) => isOutage(error) || tell(error),
  });
  own('archive', () => loop.stop());
  return archiver;
}

interface ArchiverParts {
  readonly sql: Database;
  readonly integrator?: Integrator | undefined;
  readonly archive?: ArchiveFiles;
  readonly verifier?: NoteVerifier;
  readonly origin: string;
}

const ADMIN_CONNECTIONS = 3;

/** The operator's own connections; undefined where the role of the service is all there is. */
function openAdminDatabase({ config, log, own }: OpenLedgerOptions): Database | undefined {
  const { adminDatabaseUrl: url, adminPort, adminDatabasePoolSize, databasePreparedStatements } = config;
  if (url === undefined || adminPort === undefined) return undefined;
  const sql = openDatabase({
    url,
    applicationName: 'sealgate admin',
    maxConnections: adminDatabasePoolSize ?? ADMIN_CONNECTIONS,
    connectTimeoutMs: 1000,
    deadlineMs: 2000,
    preparedStatements: databasePreparedStatements,
    onIdleError: (error) => log.warn('database_connection_lost', { reason: error.message }),
  });
  own('admin database', () => sql.close());
  return sql;
}

/** What is missing for a role to append to each of these channels, in a sentence; '' stands for channels yet to be made. */
export async function missingRights(sql: Sql, channels: readonly string[]): Promise<string | undefined> {
  const text = `SELECT c AS channel FROM unnest($1::text[]) c WHERE NOT 'append' = ANY (ledger.rights_v1(c)) LIMIT 1`;
  const [row] = await sql.query<{ channel: string }>({ text, values: [channels] }, { deadlineMs: RIGHTS_WITHIN_MS });
  if (row === undefined) return undefined;
  const where = row.channel === '' ? 'the ledger' : `the channel ${row.channel}`;
  return `the role of DATABASE_URL may not append to ${where}: run the migration job with the variables of this service`;
}

/** Told in a sentence before the first round fails. */
async function mayIntegrate(sql: Database): Promise<void> {
  const text = `SELECT 'integrate' = ANY (ledger.rights_v1('')) AS may`;
  const [row] = await sql.query<{ may: boolean }>({ text });
  if (row?.may === true) return;
  throw new LedgerNotOpenedError(
    'The role of DATABASE_URL may not build the tree: run the migration job with LEDGER_INTEGRATOR=true.',
  );
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

/** What checkpoints are checked with: the keys of this process where it signs, and those it was told. */
function verifierKeysOf({ ledgerIntegrator, ledgerSigningKey, ledgerVerifierKeys }: OpenLedgerOptions['config']) {
  const own = ledgerIntegrator && ledgerSigningKey !== undefined ? signerOf(ledgerSigningKey).verifierKeys : [];
  return [...new Set([...own, ...ledgerVerifierKeys])];
}

function verifiersOf(config: OpenLedgerOptions['config']) {
  return verifierKeysOf(config).map((key): NoteVerifier => {
    try {
      return noteVerifier(key);
    } catch (cause) {
      throw new LedgerNotOpenedError('LEDGER_VERIFIER_KEYS holds what is no C2SP verifier key.', { cause });
    }
  });
}

/** Undefined where this process does not integrate. */
function openIntegrator(
  { config, sql, now, log, metrics }: Omit<OpenLedgerOptions, 'own' | 'onResult'>,
  witnessing: Witnessing | undefined,
) {
  const { ledgerIntegrator, ledgerSigningKey, ledgerOrigin: origin, checkpointDir, ledgerArchiveDir } = config;
  if (!ledgerIntegrator || ledgerSigningKey === undefined || checkpointDir === undefined) return undefined;
  const signer = signerOf(ledgerSigningKey);
  if (signer.name !== origin)
    throw new LedgerNotOpenedError('LEDGER_SIGNING_KEY is of another ledger than LEDGER_ORIGIN.');
  // What a key before this one signed is continued, where that key is still published.
  const verifier = anyOf(verifiersOf(config)) ?? noteVerifier(signer.verifierKey);
  const count = (name: string, help: string) => metrics.counter({ name, help, labels: {} }).child({});
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
    saved: savedCheckpoints(
      checkpointDir,
      now,
      ledgerArchiveDir === undefined ? undefined : new ArchiveFiles(ledgerArchiveDir),
    ),
    onSigned: (of, note) => {
      signed.inc();
      witnessing?.offer(of, note);
    },
    onHalted: (channel, problem) => log.error('ledger_halted', { channel, problem }),
    onResumed: (channel) => log.warn('ledger_resumed', { channel }),
    onError: (error) =>
      log.error('integrator_failed', { reason: error instanceof Error ? (error.stack ?? '') : String(error) }),
  });
  const halted = 'Channels that are not signed for, because they are not as they were left.';
  metrics.gauge({
    name: 'ledger_halted_channels',
    aggregator: 'max',
    help: halted,
    labels: {},
    collect: (gauge) => gauge.set({}, integrator.halted.size),
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

/** What is kept by another key is for an operator to look at. A ledger that lost records is opened, and signs nothing. */
async function start(integrator: Integrator): Promise<void> {
  try {
    await integrator.start();
  } catch (error) {
    if (!(error instanceof LedgerCorruptError)) throw error;
    throw new LedgerNotOpenedError(`The ledger must not be continued. ${error.message}`, { cause: error });
  }
}
