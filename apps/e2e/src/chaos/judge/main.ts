import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import type { DatabaseUrls } from './databases.ts';
import { judge } from './judge.ts';
import { verdictTable } from './verdict-table.ts';

const USAGE = `Usage: node apps/e2e/src/chaos/judge/main.ts HISTORY [--databases FILE]

  Judges a run of \`npm run chaos\` from its history and the rows of the surfaces. FILE is JSON, a URL of PostgreSQL for each
  surface: {"ingest-gateway": "postgres://..."}, of a role that may read all tables. Ends with 1 if a promise is broken.
`;

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { databases: { type: 'string' }, help: { type: 'boolean' } },
});
const [historyFile, ...others] = positionals;
if (historyFile === undefined || others.length > 0 || values.help === true) {
  process.stderr.write(USAGE);
  process.exitCode = 2;
} else {
  const databases: DatabaseUrls =
    values.databases === undefined ? {} : (JSON.parse(readFileSync(values.databases, 'utf8')) as DatabaseUrls);
  const verdicts = await judge({ historyFile, databases });
  process.stdout.write(verdictTable(verdicts));
  process.exitCode = verdicts.some(({ broken }) => broken.length > 0) ? 1 : 0;
}
