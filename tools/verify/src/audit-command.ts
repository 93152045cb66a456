import type { Command } from 'commander';
import type { Jwks } from '@sealgate/envelope';
import { ExportReader, judge } from './check-audit.ts';
import { readKeySet } from './given-keys.ts';
import { pathIn, readJson, readNdjson } from './read-file.ts';
import { startReport, type Report } from './report.ts';
import { type CommandHost, runCheck } from './run-check.ts';

const HELP = `
FILE holds the pages of an export of the audit trail, one a line, as "sealgate audit export" saves them. Pin the key set:
save "sealgate audit keys" once, from where you trust it.

Each event has a MAC by a key that the database never sees, and names the events that it followed. So this names rows that no
process of the surface wrote (inserted or changed in the database), and events that are missing before others. It cannot
show that the newest events were removed before the export: with --earlier, an older export of the same surface, it can.
It cannot name events written by somebody who has the surface's SERVER_SECRETS. Events of versions before events had a MAC
are named as having none.

  sealgate audit keys --json > audit.jwks.json
  sealgate audit export > march.ndjson
  sealgate-verify audit march.ndjson --jwks audit.jwks.json --earlier february.ndjson`;

interface AuditOptions {
  readonly jwks?: string;
  readonly earlier?: string;
  readonly json?: boolean;
}

interface AuditInput {
  /** Path of an export as NDJSON. */
  readonly pages: string;
  readonly jwks: Jwks | undefined;
  /** Path of an older export of the same surface. */
  readonly earlier?: string | undefined;
}

/** `checkAuditText` for files of any size. */
export async function checkAudit({ pages, jwks, earlier }: AuditInput): Promise<Report> {
  const report = startReport();
  const read = async (path: string) => {
    const reader = new ExportReader(report, jwks);
    for await (const line of readNdjson(path)) reader.add(line);
    return reader.finish(path);
  };
  const exported = await read(pages);
  return judge(report, exported, earlier === undefined ? undefined : await read(earlier));
}

/** Adds `audit`. */
export function addAuditCommand(program: Command, host: CommandHost): void {
  program
    .command('audit')
    .description(
      'check that an export of an audit trail is signed by a pinned key, and name events that are forged or missing',
    )
    .argument('<file>', 'the pages as NDJSON')
    .option('--jwks <file>', 'the pinned key set')
    .option('--earlier <file>', 'an older export: none of its events may be missing or changed')
    .option('--json', 'print the report as JSON')
    .addHelpText('after', HELP)
    .action(async (file: string, options: AuditOptions) => {
      await runCheck(host, { name: 'audit', options }, async () => {
        const at = (path: string) => pathIn(host.directory, path);
        const set = options.jwks === undefined ? undefined : await readJson(at(options.jwks));
        return checkAudit({
          pages: at(file),
          jwks: set && readKeySet(set.name, set.value),
          earlier: options.earlier === undefined ? undefined : at(options.earlier),
        });
      });
    });
}
