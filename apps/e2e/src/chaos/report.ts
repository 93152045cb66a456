import { verdictTable, type Verdict } from './judge/index.ts';
import type { Met } from './load/meter.ts';

/** One fault as it went. */
export interface Struck {
  readonly name: string;
  readonly did: Readonly<Record<string, number>>;
  readonly met: Met;
  readonly healedMs: number;
  readonly againMs: readonly number[];
}

export interface Report {
  readonly seed: number;
  readonly commit: string;
  readonly startedAt: string;
  readonly seconds: number;
  readonly struck: readonly Struck[];
  /** Faults that could not be had here, with why. */
  readonly missing: Readonly<Record<string, string>>;
  readonly totals: Readonly<Record<string, number>>;
  readonly verdicts: readonly Verdict[];
  readonly historyFile: string;
  /** The options that draw the same again. */
  readonly options: string;
}

const most = (values: readonly number[]): string =>
  values.length === 0 ? '' : String(Math.round(Math.max(...values)));
const sum = (values: readonly number[]): number => values.reduce((all, value) => all + value, 0);

/** The rows of a table with aligned columns. */
function tableOf(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** What a run did and found, for people. */
export function reportText(report: Report): string {
  const { seed, commit, startedAt, seconds, struck, missing, totals, verdicts, historyFile, options } = report;
  const names = [...new Set(struck.map(({ name }) => name))].toSorted();
  const head = ['fault', 'times', 'requests', 'unknown', 'slowest ms', 'write again ms', 'did'];
  const rows = names.map((name) => {
    const all = struck.filter((one) => one.name === name);
    const did = new Set(all.flatMap((one) => Object.keys(one.did)));
    return [
      name,
      String(all.length),
      String(sum(all.map(({ met }) => met.requests))),
      String(sum(all.map(({ met }) => met.unknown))),
      most(all.map(({ met }) => met.slowestMs)),
      most(all.flatMap(({ againMs }) => againMs)),
      [...did].map((what) => `${sum(all.map((one) => one.did[what] ?? 0))} ${what}`).join(', '),
    ];
  });
  const skipped = Object.entries(missing).map(([name, why]) => `SKIPPED ${name}: ${why}`);
  return [
    `chaos, seed ${seed}, commit ${commit}, ${startedAt}, ${seconds} s`,
    '',
    tableOf([head, ...rows]),
    ...skipped,
    '',
    Object.entries(totals)
      .map(([name, count]) => `${name} ${count}`)
      .join(', '),
    '',
    verdictTable(verdicts),
    '',
    `history: ${historyFile}`,
    `again:   npm run chaos -- ${options}`,
    '',
  ].join('\n');
}
