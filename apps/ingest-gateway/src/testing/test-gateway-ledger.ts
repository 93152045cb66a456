import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { randomPool, timeOrderedIds, ServerSecrets } from '@sealgate/auth';
import { InFlight } from '@sealgate/idempotency';
import { openEmbeddedLedger } from '@sealgate/ledger-embedded';
import { generateNoteKey } from '@sealgate/merkle';
import { createLog, Metrics } from '@sealgate/observability';
import { migrate, openDatabase } from '@sealgate/storage';
import { preparedPostgres } from '@sealgate/testing';
import { answerWrite, freshUuids, type AnswerWrite } from '../domain/answer-write.ts';
import type { IngestCaller } from '../domain/caller.ts';
import { migrations } from '../ingest-migrations.ts';
import { APPEND_FUNCTIONS } from '../open-ledger.ts';

export type TestGatewayLedger = Awaited<ReturnType<typeof openTestGatewayLedger>>;

/** The gateway's ledger on a real PostgreSQL, with `answerWrite`; without HTTP, keys and limits. */
export async function openTestGatewayLedger({ integrates }: { readonly integrates: boolean }) {
  const postgres = await preparedPostgres('ingest', (url) => migrate({ url, sets: migrations }));
  const options = { applicationName: 'test', maxConnections: 4, connectTimeoutMs: 2000, deadlineMs: 60_000 };
  const sql = openDatabase({ ...options, url: postgres.url });
  const folder = mkdtempSync(join(tmpdir(), 'sealgate-gateway-'));
  const owned: (() => void | Promise<void>)[] = [];
  const ledger = await openEmbeddedLedger({
    config: {
      ledgerOrigin: 'ledger.test',
      ledgerIntegrator: integrates,
      ledgerSigningKey: integrates ? generateNoteKey('ledger.test').privateKey : undefined,
      ledgerVerifierKeys: [],
      checkpointDir: integrates ? folder : undefined,
    },
    sql,
    now: Date.now,
    log: createLog({ service: 'test', level: 'error', stream: new PassThrough(), now: Date.now }),
    metrics: new Metrics('test', { processMetrics: false }),
    appendFunctions: APPEND_FUNCTIONS,
    own: (_name, release) => owned.push(release),
  });
  const newId = timeOrderedIds(Date.now, randomPool());
  const secrets = ServerSecrets.parse(`s1:${'s'.repeat(32)}`);
  const caller: IngestCaller = {
    networkId: 'acme',
    familyId: newId('key_'),
    keyId: newId('key_'),
    channels: ['main'],
    grants: {} as IngestCaller['grants'],
    networkLimits: undefined,
    guard: { kind: 'key', id: 'key', version: '1' },
  };
  /** A process with empty caches. */
  const newProcess = (): AnswerWrite =>
    answerWrite({
      ledger,
      inFlight: new InFlight(),
      fingerprints: secrets.derive('ingest fingerprints'),
      recordIds: secrets.derive('ingest record ids'),
      freshIds: freshUuids(Date.now, randomPool()),
      newId,
      accepted: { inc: () => undefined },
      replayed: { inc: () => undefined },
      touchKey: () => undefined,
    });
  return {
    sql,
    ledger,
    newProcess,
    /** An order for `count` records of `data` to acme.main under an Idempotency-Key. */
    order: (data: string, { idempotencyKey, count = 1 }: { idempotencyKey: string; count?: number }) => {
      const record = { id: undefined, type: 'asset', owner: null, data, extra: null, targetChannels: undefined };
      return {
        caller,
        requestId: newId('req_'),
        records: Array.from({ length: count }, () => record),
        strippedFields: 0,
        idempotencyKeys: [idempotencyKey],
        path: '/acme',
        rawBody: Buffer.from(data),
        guard: undefined,
        charge: async () => undefined,
        confirmCaller: async () => undefined,
      };
    },
    async close() {
      for (const release of owned.reverse()) await release();
      await sql.close();
      await postgres.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
