import { parseArgs } from 'node:util';
import { capacityOf, MEASURED, PLANNED_LOAD, type Load } from './capacity.ts';

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

Estimates the resources of a load: processes, PostgreSQL, disk, and the next limit.
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

const count = (value: number): string => Math.round(value).toLocaleString('en');
const percent = (part: number): string => `${(part * 100).toFixed(part < 0.1 ? 1 : 0)} %`;
function size(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  const step = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log2(Math.max(1, bytes)) / 10)));
  return `${(bytes / 1024 ** step).toFixed(step === 0 ? 0 : 1)} ${units[step]!}`;
}

function tableOf(load: Load): string {
  const needs = capacityOf(load);
  const rows: [string, string][] = [
    ['requests per second', count(needs.requestsPerSecond)],
    ['processes of the ingest gateway, one core each', count(needs.gateways)],
    ...(load.checksPerSecond === 0
      ? []
      : [['processes of the case gate, one core each', count(needs.gates)] as [string, string]]),
    ['cores of PostgreSQL', count(needs.databaseCores)],
    [
      `shards, PostgreSQL servers of ${load.databaseCores} cores`,
      `${count(needs.shards)}, up to ${count(needs.networksPerShard)} network(s) each`,
    ],
    [
      'records per second limit of one channel',
      `${count(needs.channelLimit)} (the average network uses ${percent(needs.channelLoad)})`,
    ],
    ['utilisation of the integrator of a shard', percent(needs.integratorLoad)],
    [`records after ${load.days} days`, count(needs.records)],
    ['bytes of tables and indexes per record', count(needs.bytesPerRecord)],
    ['tables and indexes', size(needs.tableBytes)],
    ['disk, with WAL, VACUUM and room for a restore', size(needs.diskBytes)],
    ['checkpoint files per day, at most', size(needs.checkpointBytesPerDay)],
    ['next limit', needs.nextLimit],
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, value]) => `${name.padEnd(width)}  ${value}\n`).join('');
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
    `\nCores are planned to be busy for ${percent(PLANNED_LOAD)} of the time. A record of ${MEASURED.recordDataBytes} bytes takes ${MEASURED.recordBytes}; see tools/capacity/README.md.\n`,
  );
}
