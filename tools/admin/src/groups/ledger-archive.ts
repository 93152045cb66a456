import { type ArchivedRecord, ArchiveFileError, ArchiveFiles } from '@sealgate/ledger-embedded/archive-files';
import { proveArchived } from '@sealgate/ledger-embedded/prove-archived';
import { Option } from 'commander';
import type { CodeCommand } from '../command-spec.ts';
import { EXIT_CODES, type ExitCode, UsageError } from '../errors.ts';
import type { Row } from '../row-command.ts';
import { rowFields } from '../row-table.ts';
import type { Session } from '../session.ts';

const MOST_STANDSTILLS = 10;

export const archive: Row = {
  operation: 'archiveRecords',
  summary: 'Move records of a channel from the database to the archive',
  details: 'A repeated run continues where the last one stopped.',
  examples: [
    'sealgate ledger archive acme.main --older-than 400',
    'sealgate ledger archive acme.main --before 1048576 --yes',
  ],
  complete: async (body) => {
    if (Object.keys(body).length !== 1) throw new UsageError('Give either --before or --older-than.');
  },
  confirm: 'Move records of <channel> out of the database?',
  run: async (session, request) => {
    let answer = await session.api.json(request);
    // One step may be delayed by an erasure of the same records. Many in a row have another cause.
    for (let standstills = 0; Number(answer.value['archived']) < Number(answer.value['until']);) {
      if (!session.json)
        session.note(`${String(answer.value['archived'])} of ${String(answer.value['until'])} records\n`);
      const { archived } = answer.value;
      answer = await session.api.json(request);
      standstills = answer.value['archived'] === archived ? standstills + 1 : 0;
      if (standstills === MOST_STANDSTILLS) {
        session.note(`sealgate: the archive makes no progress beyond record ${String(archived)}.\n`);
        return EXIT_CODES.refused;
      }
    }
    session.show(answer, rowFields);
    return EXIT_CODES.done;
  },
};

const RANGE = /^(\d{1,15})\.\.(\d{1,15})$/;

export const fetch: CodeCommand<{ readonly dir: string }> = {
  summary: 'Read records from the files of an archive, without a service: an id, or <index>..<index>',
  details:
    'For an id: receipt, data and proof, for `sealgate-verify receipt`. For indexes, inclusive: one record per line. An id is searched in every file. Signatures are not checked here: `sealgate-verify log` checks a whole archive, `sealgate-verify receipt` the output of this command.',
  examples: [
    'sealgate ledger fetch acme.main order-7 --dir /var/lib/sealgate/archive > proof.json',
    'sealgate ledger fetch acme.main 0..999 --dir /mnt/copy-of-the-archive',
  ],
  options: [new Option('--dir <folder>', 'the archive: LEDGER_ARCHIVE_DIR, or a copy of it').makeOptionMandatory()],
  isOffline: () => true,
  run: async (session, [channel = '', wanted = ''], { dir }) => {
    try {
      return await fetchFrom(session, { dir, channel, wanted });
    } catch (error) {
      if (!(error instanceof ArchiveFileError)) throw error;
      session.note(`sealgate: ${error.message}.\n`);
      return EXIT_CODES.refused;
    }
  },
};

async function fetchFrom(
  session: Session,
  { dir, channel, wanted }: { dir: string; channel: string; wanted: string },
): Promise<ExitCode> {
  const files = new ArchiveFiles(dir);
  const { isOne, first, last, holds } = wantedBy(wanted);
  const stretches = await files.stretches(channel);
  const until = stretches.at(-1)?.until ?? 0;
  let isFound = false;
  for (const stretch of stretches) {
    if (stretch.until <= first || stretch.from > last) continue;
    for await (const record of files.records(channel, stretch)) {
      if (!holds(record)) continue;
      isFound = true;
      session.print(`${JSON.stringify(isOne ? await withProof(files, record) : record)}\n`);
    }
    if (isFound && isOne) return EXIT_CODES.done;
  }
  if (isFound && last < until) return EXIT_CODES.done;
  // The folder may be wrong, or the records are still in the database.
  const held = until === 0 ? 'no records' : `records 0 to ${until - 1}`;
  session.note(`sealgate: ${dir} contains ${held} of ${channel}, not all requested ones.\n`);
  return EXIT_CODES.refused;
}

/** An id, in any file, or a range of indexes. */
function wantedBy(wanted: string) {
  const range = RANGE.exec(wanted);
  const [first, last] = range === null ? [0, Number.MAX_SAFE_INTEGER] : [Number(range[1]), Number(range[2])];
  const holds = ({ id, index }: ArchivedRecord): boolean =>
    range === null ? id === wanted : first <= index && index <= last;
  return { isOne: range === null, first, last, holds };
}

async function withProof(files: ArchiveFiles, record: ArchivedRecord) {
  const { receipt, proof } = await proveArchived(files, record);
  return { receipt, data: record.data, proof };
}
