import { hash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { adminClient, type AdminClient } from './admin-client.ts';
import { databaseVariables, migrate, programOf, type Database } from './bundle.ts';
import { prepareGateway, type Gateway } from './gateway-process.ts';
import { newServerSecret, newToken } from './new-secrets.ts';
import { newNoteKey, type NoteKey } from './note-key.ts';

export const ledgerOrigin = 'ledger.test/sealgate';

/** Variables of a process; `undefined` leaves one out. */
export type Variables = Readonly<Record<string, string | undefined>>;

/** Processes of one surface on a fresh database. */
export interface SurfaceSetup {
  readonly processes: readonly Gateway[];
  /** The admin API of the first process. */
  readonly admin: AdminClient;
  readonly adminToken: string;
  /** A token of another caller of the admin API. */
  readonly otherAdminToken: string;
  /** The public key that an outsider pins. */
  readonly verifierKey: string;
  /** For files of the story; removed with the setup. */
  readonly folder: string;
  /** Another process on the same database, of this or another build, not yet started. It is stopped with the others. */
  another(program: string): Promise<Gateway>;
  /** Stops all processes. Rejects with their logs when one of them does not exit cleanly. */
  stop(): Promise<void>;
}

export interface SurfaceOptions {
  readonly surface: string;
  readonly postgres: Database;
  /** The Redis that all of them use; absent: none. */
  readonly redisUrl?: string | undefined;
  /** Default 1. */
  readonly processes?: number | undefined;
  /** How many of them integrate, counted from the first; default all. */
  readonly integrators?: number | undefined;
  /** Variables in addition to those that every surface needs; files of the story belong in the folder. */
  readonly env?: (folder: string) => Variables;
  readonly tls?: undefined | { readonly scheme?: 'http' | 'https'; readonly ca?: string };
}

/** Where the process of this index publishes its checkpoints. */
export const checkpointFolder = (folder: string, index: number): string => join(folder, `checkpoints-${index + 1}`);

/** Migrates the database and starts a surface on it, as an operator would. */
export async function surfaceSetup(options: SurfaceOptions): Promise<SurfaceSetup> {
  const { surface, postgres } = options;
  const folder = mkdtempSync(join(tmpdir(), `sealgate-e2e-${surface}-`));
  const [adminToken, otherAdminToken] = [newToken(), newToken()];
  const noteKey = newNoteKey(ledgerOrigin);
  await migrate(postgres, surface);
  const variablesOf = variables(options, { folder, noteKey, adminTokens: [adminToken, otherAdminToken] });
  const processes: Gateway[] = [];
  const another = async (program: string): Promise<Gateway> => {
    const index = processes.length;
    const logFile = join(folder, `${surface}-${index + 1}.log`);
    const made = await prepareGateway({ program, env: variablesOf(index), logFile, ...options.tls });
    processes.push(made);
    return made;
  };
  for (let left = options.processes ?? 1; left > 0; left -= 1) await another(programOf(surface, 'main'));
  try {
    await Promise.all(processes.map((one) => one.start()));
  } catch (error) {
    await Promise.all(processes.map((one) => one.kill()));
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
  return {
    processes,
    admin: adminClient(processes[0]!.admin, adminToken),
    adminToken,
    otherAdminToken,
    verifierKey: noteKey.verifierKey,
    folder,
    another,
    async stop() {
      const codes = await Promise.all(processes.map((one) => (one.isRunning ? one.stop() : Promise.resolve(0))));
      for (const one of processes) one.release();
      const said = codes.some((code) => code !== 0) ? processes.map((one) => one.logText().slice(-2_000)) : [];
      rmSync(folder, { recursive: true, force: true });
      if (said.length > 0) throw new Error(`${surface} ended with ${codes.join(', ')}:\n${said.join('\n')}`);
    },
  };
}

/** The variables of the process of an index. */
function variables(
  { surface, postgres, redisUrl, processes = 1, integrators = processes, env }: SurfaceOptions,
  made: { readonly folder: string; readonly noteKey: NoteKey; readonly adminTokens: readonly string[] },
): (index: number) => Record<string, string> {
  const common = {
    ...databaseVariables(postgres.url, surface),
    REDIS_URL: redisUrl,
    REPLICAS: String(processes),
    SERVER_SECRETS: newServerSecret(),
    ADMIN_TOKEN_HASHES: made.adminTokens.map((token) => hash('sha256', token, 'hex')).join(),
    LEDGER_ORIGIN: ledgerOrigin,
    // Stories make much in little time.
    ADMIN_RATE_PER_SECOND: '1000000',
    ADMIN_RATE_BURST: '1000000',
  };
  const own = env?.(made.folder);
  const integrating = { LEDGER_INTEGRATOR: 'true', LEDGER_SIGNING_KEY: made.noteKey.signingKey };
  return (index) => {
    const role =
      index < integrators || integrators === processes
        ? { ...integrating, CHECKPOINT_DIR: checkpointFolder(made.folder, index) }
        : { LEDGER_VERIFIER_KEYS: made.noteKey.verifierKey };
    return given({ ...common, ...role, ...own });
  };
}

/** The members that have a value. */
export const given = <Value>(all: Readonly<Record<string, Value | undefined>>): Record<string, Value> =>
  Object.fromEntries(Object.entries(all).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
