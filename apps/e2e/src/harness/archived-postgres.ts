import { spawn } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startPostgres, type LocalPostgres } from '@sealgate/local-services';
import { executeSql, until } from '@sealgate/testing';

/** A backup of one moment. */
interface Backup {
  readonly how: 'pg_dump' | 'PITR';
  /** Restores it on a server of its own; returns the URL of the database there. */
  restore(): Promise<string>;
}

/** A PostgreSQL server with backups as the page for operators describes: dumps, and continuous archiving. */
export interface ArchivedPostgres {
  /** URL of the database on the original server. */
  readonly url: string;
  /** Makes a dump whose snapshot is taken between the call and its result. */
  dump(): Promise<Backup>;
  /** A restore point at this moment, based on the base backup taken at the start. */
  moment(): Promise<Backup>;
  /** Crashes the server, with its WAL archived as far as it came; and starts it again with all its data. */
  lose(): Promise<void>;
  bringBack(): Promise<void>;
  stop(): Promise<void>;
}

const DATABASE = 'archived';
const WITHIN_MS = 120_000;
const settings: Readonly<Record<string, string>> = {
  fsync: 'off',
  full_page_writes: 'off',
  shared_buffers: '32MB',
  max_connections: '100',
};

/** Uses the programs of an installed PostgreSQL: the one from npm has no pg_dump. */
export async function archivedPostgres(binFolder: string): Promise<ArchivedPostgres> {
  const folder = mkdtempSync(join(tmpdir(), 'sealgate-archived-'));
  chmodSync(folder, 0o711); // When run as root, the servers run as another user, which must reach its data.
  const archive = join(folder, 'archive');
  mkdirSync(archive);
  // Contains only copies of what this test made.
  chmodSync(archive, 0o777);
  let restores = 0;
  const opened: LocalPostgres[] = [];

  const start = async (name: string, more: Readonly<Record<string, string>>, port?: number): Promise<LocalPostgres> => {
    const server = await startPostgres({
      dataDirectory: join(folder, name),
      settings: { ...settings, ...more },
      removeWithOwner: folder,
      binFolder,
      ...(port === undefined ? {} : { port }),
    });
    opened.push(server);
    return server;
  };
  // Renamed into place, so that a copy cut short by a crash is not taken for a segment.
  const archiving = {
    archive_mode: 'on',
    archive_command: `cp %p ${archive}/%f.part && mv ${archive}/%f.part ${archive}/%f`,
  };
  let primary = await start('primary', archiving);
  const { port } = primary;
  const urlOf = (server: LocalPostgres, database = DATABASE): string =>
    Object.assign(new URL(server.url), { pathname: `/${database}` }).href;
  const run = (program: string, ...parameters: string[]): Promise<void> => ran(join(binFolder, program), parameters);
  /** Servers of earlier restores, no longer in use. */
  const newServer = async (name: string, more: Readonly<Record<string, string>> = {}): Promise<LocalPostgres> => {
    for (const server of opened.splice(0)) if (server.port !== port) await server.stop('immediate');
    return start(name, more);
  };

  await executeSql(primary.url, `CREATE DATABASE ${DATABASE} TEMPLATE template0`);
  const base = join(folder, 'base');
  /** Gives all files below it to the servers' user, including those written by this process. */
  const handOver = (path: string): Promise<void> => {
    const { uid, gid } = statSync(primary.dataDirectory);
    return ran('chown', ['-R', `${uid}:${gid}`, path]);
  };
  await handOver(primary.dataDirectory);
  await run('pg_basebackup', '--dbname', urlOf(primary, 'postgres'), '--pgdata', base, '--checkpoint=fast');

  return {
    url: urlOf(primary),
    async dump() {
      const file = join(folder, `dump-${(restores += 1)}`);
      await run('pg_dump', '--format=custom', `--file=${file}`, `--dbname=${urlOf(primary)}`);
      return {
        how: 'pg_dump',
        async restore() {
          const server = await newServer(`${file.split('/').at(-1)}-restored`);
          await executeSql(server.url, `CREATE DATABASE ${DATABASE} TEMPLATE template0`);
          await run('pg_restore', '--exit-on-error', `--dbname=${urlOf(server)}`, file);
          return urlOf(server);
        },
      };
    },
    async moment() {
      // In the form of PostgreSQL settings: with an offset, without Z.
      const at = new Date(Date.now() + 1).toISOString().replace('Z', '+00');
      const name = `moment-${(restores += 1)}`;
      return {
        how: 'PITR',
        async restore() {
          const data = join(folder, name);
          await ran('cp', ['-a', base, data]);
          writeFileSync(join(data, 'recovery.signal'), '');
          await handOver(data);
          const server = await newServer(name, {
            restore_command: `cp ${archive}/%f %p`,
            recovery_target_time: at,
            recovery_target_action: 'promote',
          });
          // Divides by zero until it accepts writes.
          const question = 'SELECT 1 / (NOT pg_is_in_recovery())::integer';
          await until(() => isTrue(server.url, question), { timeoutMs: WITHIN_MS, what: 'the end of the recovery' });
          return urlOf(server);
        },
      };
    },
    async lose() {
      const control = urlOf(primary, 'postgres');
      await executeSql(control, 'DROP TABLE IF EXISTS switched');
      await executeSql(control, 'CREATE TABLE switched AS SELECT pg_walfile_name(pg_switch_wal()) AS name');
      // Divides by zero until it is in the archive.
      const question = 'SELECT 1 / coalesce(last_archived_wal >= name, false)::integer FROM pg_stat_archiver, switched';
      await until(() => isTrue(control, question), { timeoutMs: WITHIN_MS, what: 'the segment in the archive' });
      await primary.stop('immediate');
    },
    async bringBack() {
      primary = await start('primary', archiving, port);
    },
    async stop() {
      for (const server of [...opened, primary]) await server.stop('immediate');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Polls until the statement no longer fails. */
const isTrue = (url: string, question: string): Promise<boolean> =>
  executeSql(url, question).then(
    () => true,
    () => false,
  );

/** Runs a program to its end. Rejects with its output when it fails. */
function ran(program: string, parameters: readonly string[]): Promise<void> {
  return new Promise((done, fail) => {
    const child = spawn(program, parameters, { stdio: ['ignore', 'pipe', 'pipe'], timeout: WITHIN_MS });
    let said = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (said += chunk.toString()));
    child.on('error', fail);
    child.on('close', (code) => (code === 0 ? done() : fail(new Error(`${program} failed (${code}): ${said}`))));
  });
}
