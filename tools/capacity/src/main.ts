import { parseArgs } from 'node:util';
import { linesOf, percent, type Line } from './capacity-lines.ts';
import { MEASURED, PLANNED_LOAD, type Load } from './capacity.ts';

const DEFAULTS = {
  networks: '10',
  rate: '1000',
  days: '365',
  batch: '1',
  data: '127',
  checks: '0',
  'database-cores': '8',
} as const;

const usage = `Usage: npm run capacity -- [--networks N] [--rate RECORDS_A_SECOND] [--days D] [--batch 1-100] [--data BYTES]
                           [--checks CHECKS_A_SECOND] [--database-cores N] [--without-keys]

Estimates the resources of a load: processes, PostgreSQL, disk, and the next limit; and says of each line whether it was
measured, is computed, or is unknown.
Defaults: ${Object.entries(DEFAULTS)
  .map(([name, value]) => `--${name} ${value}`)
  .join(' ')}
`;

/** Parses the command line; returns the load, or a text with the faults. */
function loadOf(parameters: string[]): Load | string {
  const options = Object.fromEntries(
    Object.entries(DEFAULTS).map(([name, value]) => [name, { type: 'string', default: value } as const]),
  );
  let values: Record<string, string | boolean | undefined>;
  try {
    ({ values } = parseArgs({
      args: parameters,
      options: { ...options, 'without-keys': { type: 'boolean', default: false } },
    }));
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  const faults: string[] = [];
  const number = (name: keyof typeof DEFAULTS, least: number, most = 1e9): number => {
    const text = String(values[name]);
    const value = Number(text);
    if (!/^\d+(\.\d+)?$/.test(text) || value < least || value > most)
      faults.push(`--${name} must be a number from ${least} to ${most}.`);
    return value;
  };
  const load: Load = {
    networks: number('networks', 1),
    recordsPerSecond: number('rate', 0.001),
    days: number('days', 1, 36_500),
    batch: number('batch', 1, 100),
    keyed: values['without-keys'] !== true,
    dataBytes: number('data', 0, 1_048_576),
    checksPerSecond: number('checks', 0),
    databaseCores: number('database-cores', 1, 1_024),
  };
  return faults.length === 0 ? load : faults.join('\n');
}

function tableOf(load: Load): string {
  const lines = linesOf(load);
  const widthOf = (cell: (line: Line) => string): number => Math.max(...lines.map((line) => cell(line).length));
  const [names, bases] = [widthOf(({ name }) => name), widthOf(({ basis }) => basis)];
  return lines.map(({ name, basis, value }) => `${name.padEnd(names)}  ${basis.padEnd(bases)}  ${value}\n`).join('');
}

const parameters = process.argv.slice(2);
const load = parameters.includes('--help') ? undefined : loadOf(parameters);
if (load === undefined) process.stdout.write(usage);
else if (typeof load === 'string') {
  process.stderr.write(`${load}\n\n${usage}`);
  process.exitCode = 2;
} else {
  process.stdout.write(tableOf(load));
  process.stdout.write(
    `\n"measured": so it was seen; "computed": from measured values, within what was measured; "unknown": nothing so large was measured.\nCores are planned to be busy for ${percent(PLANNED_LOAD)} of the time. A record of ${MEASURED.recordDataBytes} bytes takes ${MEASURED.recordBytes}; see tools/capacity/README.md.\n`,
  );
}
