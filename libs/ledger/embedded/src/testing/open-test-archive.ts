import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach } from '@jest/globals';
import type { AppendUnit } from '@sealgate/ledger-port';
import { noteVerifier } from '@sealgate/merkle';
import { ArchiveFiles } from '../archive/archive-files.ts';
import { Archiver } from '../archive/archiver.ts';
import { checkedCheckpoints } from '../checked-checkpoint.ts';
import type { EmbeddedLedger } from '../embedded-ledger.ts';
import { openTestLedger, ORIGIN, type TestLedger } from './open-test-ledger.ts';

export const SIZE = 700;
/** The report of an audit without findings. */
export const IN_ORDER = { ok: true, size: SIZE, firstBadRecordId: null, problem: null };
/** The file of the first 512 records. */
export const FILE = '000000000000-000000000512.ndjson';

export const record = (n: number, more: object = {}) => ({
  id: `r${n}`,
  type: n % 3 === 0 ? 'order' : 'asset',
  owner: n % 2 === 0 ? 'me' : null,
  data: `{"n":${n}}`,
  extra: n % 5 === 0 ? '{"x":1}' : null,
  ...more,
});

const newClaim = () => ({ claim: randomBytes(32), fingerprint: 's1:f', acceptable: ['s1:f'] });

/** The process that signs and writes the archive. */
export function archiverOf(test: TestLedger, files: ArchiveFiles, onError: (error: unknown) => void) {
  const verifier = noteVerifier(test.verifierKey);
  const archiver = new Archiver({
    sql: test.sql,
    files,
    origin: ORIGIN,
    signer: test.signer,
    checked: checkedCheckpoints(ORIGIN, verifier),
    compare: (name) => test.integrator.compare(name),
    now: Date.now,
    onError,
  });
  return { archiver, ledger: test.reopen({ archive: files, archiver }).ledger };
}

let channels = 0;

/** A channel of 700 signed records, one of them erased, and an empty archive. */
export async function openTestArchive(test: TestLedger) {
  const channel = `acme.a${(channels += 1)}`;
  const folder = mkdtempSync(join(tmpdir(), 'sealgate-archive-'));
  const problems: unknown[] = [];
  const open = (files = new ArchiveFiles(folder)) => archiverOf(test, files, (error) => problems.push(error));
  /** A process without the archive. */
  const without: EmbeddedLedger = test.reopen().ledger;
  const unit = (records: AppendUnit['records'], claim?: AppendUnit['claim']): AppendUnit => ({
    network: 'acme',
    channel,
    note: '{"eventId":"evt"}',
    records,
    ...(claim === undefined ? {} : { claim }),
  });
  const batchClaim = newClaim();
  await without.append(
    unit(
      Array.from({ length: 600 }, (_, n) => record(n)),
      batchClaim,
    ),
  );
  await without.append(unit([record(7), ...Array.from({ length: 100 }, (_, n) => record(600 + n))], newClaim()));
  await without.prove(channel, `r${SIZE - 1}`);
  await without.erase(channel, 'r9', 'asked for before');
  return {
    channel,
    folder,
    problems,
    open,
    ...open(),
    without,
    unit,
    batchClaim,
    /** The names of the records files, and the content of one. */
    files: () => readdirSync(join(folder, channel, 'records')).sort(),
    text: (name = FILE) => readFileSync(join(folder, channel, 'records', name), 'utf8'),
    /** `$1` of `text` is the channel. */
    edit: (text: string) => test.sql.query<Record<string, unknown>>({ text, values: [channel] }),
    async count(table: string) {
      const text = `SELECT count(*)::int AS n FROM ledger.${table} JOIN ledger.channels USING (channel_id) WHERE channel = $1`;
      return (await test.sql.query<{ n: number }>({ text, values: [channel] }))[0]!.n;
    },
    close: () => rmSync(folder, { recursive: true, force: true }),
  };
}

export type TestArchive = Awaited<ReturnType<typeof openTestArchive>>;
export const OURS = '(SELECT channel_id FROM ledger.channels WHERE channel = $1)';

/** Opens an archive for each test on one ledger per file, and passes both to `made`. */
export function eachWithArchive(made: (parts: { test: TestLedger; of: TestArchive }) => void): void {
  let test: TestLedger;
  let of: TestArchive;
  beforeAll(async () => {
    test = await openTestLedger();
  }, 120_000);
  afterAll(() => test.close());
  beforeEach(async () => {
    of = await openTestArchive(test);
    made({ test, of });
  });
  afterEach(() => of.close());
}
