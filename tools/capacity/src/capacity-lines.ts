import { capacityOf, MEASURED, MOST_MEASURED, type Load } from './capacity.ts';

/** What is known of a line of the plan. */
export type Basis = 'measured' | 'computed' | 'unknown';

export interface Line {
  readonly name: string;
  readonly basis: Basis;
  readonly value: string;
}

const count = (value: number): string => Math.round(value).toLocaleString('en');
export const percent = (part: number): string => `${(part * 100).toFixed(part < 0.1 ? 1 : 0)} %`;

function size(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  const step = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log2(Math.max(1, bytes)) / 10)));
  return `${(bytes / 1024 ** step).toFixed(step === 0 ? 0 : 1)} ${units[step]!}`;
}

/** Something that one server would have to carry, and the most that one was seen to carry. */
interface Carried {
  readonly what: string;
  readonly needed: number;
  readonly most: number;
}

/** A computed line; unknown, and without its number, where a server would carry more than was measured. */
function computed(name: string, value: string, ...carried: readonly Carried[]): Line {
  const beyond = carried.find(({ needed, most }) => needed > most);
  if (beyond === undefined) return { name, basis: 'computed', value };
  const { what, needed, most } = beyond;
  return { name, basis: 'unknown', value: `${count(needed)} ${what} a server; measured up to ${count(most)}` };
}

/** The plan of a load, line by line, each with what is known of it. */
export function linesOf(load: Load): readonly Line[] {
  const needs = capacityOf(load);
  const { shards } = needs;
  const perServer = (what: keyof typeof MOST_MEASURED, name: string, needed: number): Carried => {
    return { what: name, needed: needed / shards, most: MOST_MEASURED[what] };
  };
  const rows = [perServer('records', 'records', needs.records), perServer('decisions', 'decisions', needs.decisions)];
  const isAsMeasured =
    (load.batch === 1 || (load.batch === 100 && !load.keyed)) &&
    load.dataBytes <= MEASURED.recordDataBytes &&
    load.days <= MEASURED.eventDays;
  return [
    computed('requests per second', count(needs.requestsPerSecond)),
    computed(
      'processes of the ingest gateway, one core each',
      count(needs.gateways),
      perServer('gateways', 'processes', needs.gateways),
    ),
    ...(load.checksPerSecond === 0
      ? []
      : [
          computed(
            'processes of the case gate, one core each',
            count(needs.gates),
            perServer('gates', 'processes', needs.gates),
          ),
        ]),
    computed(
      'cores of PostgreSQL',
      count(needs.databaseCores),
      perServer('databaseCores', 'cores of PostgreSQL', needs.databaseCores),
    ),
    computed(
      `shards, PostgreSQL servers of ${load.databaseCores} cores`,
      `${count(shards)}, up to ${count(needs.networksPerShard)} network(s) each`,
      perServer('databaseCores', 'cores of PostgreSQL', needs.databaseCores),
      perServer('networks', 'networks', needs.networksPerShard * shards),
    ),
    computed(
      'records per second limit of one channel',
      `${count(needs.channelLimit)} (the average network uses ${percent(needs.channelLoad)})`,
    ),
    computed('utilisation of the integrator of a shard', percent(needs.integratorLoad)),
    computed(`records after ${load.days} days`, count(needs.records)),
    {
      name: 'bytes of tables and indexes per record',
      basis: isAsMeasured ? 'measured' : 'computed',
      value: count(needs.bytesPerRecord),
    },
    computed('tables and indexes', size(needs.tableBytes), ...rows),
    computed('disk, with WAL, VACUUM and room for a restore', size(needs.diskBytes), ...rows),
    computed('checkpoint files per day, at most', size(needs.checkpointBytesPerDay)),
    computed('next limit', needs.nextLimit),
  ];
}
