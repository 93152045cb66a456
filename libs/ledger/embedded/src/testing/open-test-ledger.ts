import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generateNoteKey, noteSigner, noteVerifier, type RootSigner } from '@sealgate/merkle';
import { migrate, openDatabase, type Database } from '@sealgate/storage';
import { preparedPostgres, type OwnPostgres, type ThrowawayPostgres } from '@sealgate/testing';
import type { ArchiveFiles } from '../archive/archive-files.ts';
import { embeddedLedger, type EmbeddedLedger, type EmbeddedLedgerOptions } from '../embedded-ledger.ts';
import { Integrator } from '../integrator.ts';
import { ledgerMigrations } from '../ledger-grants.ts';
import { savedCheckpoints } from '../saved-checkpoints.ts';

export const ORIGIN = 'ledger.test';
/** Short enough that tests see the next comparison, long enough not to interfere before. */
const COMPARE_EVERY_MS = 200;

export interface TestLedger {
  readonly ledger: EmbeddedLedger;
  readonly integrator: Integrator;
  /** Uses the owner of the tables, like an attacker who controls the database. */
  readonly sql: Database;
  readonly url: string;
  readonly checkpointFolder: string;
  readonly verifierKey: string;
  readonly signer: RootSigner;
  readonly signingKey: string;
  /** Another process on the same database: own queue, own integrator, same signing key. */
  reopen(
    more?: Partial<EmbeddedLedgerOptions>,
    checkpointFolder?: string,
    archive?: ArchiveFiles,
  ): { ledger: EmbeddedLedger; integrator: Integrator };
  close(): Promise<void>;
}

/** A migrated ledger on a real PostgreSQL, with its integrator not yet started. */
export async function openTestLedger(server?: OwnPostgres): Promise<TestLedger> {
  const prepare = (url: string) => migrate({ url, sets: [ledgerMigrations] });
  if (server !== undefined) await prepare(server.url);
  const postgres: ThrowawayPostgres = server ?? (await preparedPostgres('ledger', prepare));
  const sql = openDatabase({
    url: postgres.url,
    applicationName: 'test',
    maxConnections: 8,
    connectTimeoutMs: 2000,
    deadlineMs: 10_000,
  });
  const folder = mkdtempSync(join(tmpdir(), 'sealgate-checkpoints-'));
  const key = generateNoteKey(ORIGIN);
  const verifier = noteVerifier(key.verifierKey);
  const signer = noteSigner(key.privateKey);
  const reopen = (more: Partial<EmbeddedLedgerOptions> = {}, checkpointFolder = folder, archive?: ArchiveFiles) => {
    const integrator = new Integrator({
      sql,
      signer,
      verifier,
      origin: ORIGIN,
      leavesAtOnce: 65_536,
      deadlineMs: 10_000,
      saved: savedCheckpoints(
        checkpointFolder,
        Date.now,
        archive && ((channel) => archive.readableCheckpoint(channel)),
      ),
      everyMs: 20,
      compareEveryMs: COMPARE_EVERY_MS,
      now: Date.now,
    });
    return {
      integrator,
      ledger: embeddedLedger({ sql, origin: ORIGIN, integrator, verifier, now: Date.now, ...more }),
    };
  };
  const { ledger, integrator } = reopen();
  return {
    ledger,
    integrator,
    sql,
    url: postgres.url,
    checkpointFolder: folder,
    verifierKey: key.verifierKey,
    signer,
    signingKey: key.privateKey,
    reopen,
    async close() {
      await integrator.stop();
      await ledger.drain();
      await sql.close();
      await postgres.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
