import { NODE_OPTIONS } from '@sealgate/service-host';
import { findingRow, kindOfMachine, type Finding } from './targets.ts';
import type { BenchOptions } from './bench-options.ts';
import type { Machine } from './machine.ts';
import { textTable, type Column } from './text-table.ts';

export interface ReportTable {
  readonly columns: readonly Column[];
  readonly rows: readonly (readonly string[])[];
}

/** The result of one section. */
export interface SectionReport {
  readonly title: string;
  readonly tables: readonly ReportTable[];
  /** Sentences below the tables. */
  readonly notes: readonly string[];
  readonly findings: readonly Finding[];
  /** Reasons why numbers are withheld; the run is then not valid evidence. */
  readonly withheld: readonly string[];
  /** All measurements, for the JSON file. */
  readonly measured: unknown;
}

export interface RunFacts {
  readonly machine: Machine;
  readonly settings: Readonly<Record<string, string>>;
  readonly options: Pick<BenchOptions, 'quick' | 'nodeOptions'>;
}

/** The whole run as Markdown, readable on a terminal too. */
export function renderReport({ machine, settings, options }: RunFacts, sections: readonly SectionReport[]): string {
  const parts = ['# What was measured', machineLines({ machine, settings, options })];
  if (options.quick) parts.push('Made with `--quick`: shows that everything runs, not how fast it is.');
  for (const section of sections) parts.push(...renderSection(section));
  const findings = sections.flatMap((section) => section.findings);
  if (findings.length > 0) {
    const columns: Column[] = [{ name: 'target' }, ...['wanted', 'measured', 'verdict'].map((name) => ({ name }))];
    parts.push('## Targets', textTable(columns, findings.map(findingRow)), ...kindOfMachine(findings));
  }
  return `${parts.join('\n\n')}\n`;
}

function machineLines({ machine, settings, options }: RunFacts): string {
  const { cpu, cores, memoryGib, system, node, date, commit, syncMs } = machine;
  const shown = Object.entries(settings).map(([name, value]) => `${name} ${value}`);
  const nodeOptions = [...NODE_OPTIONS, ...(options.nodeOptions === undefined ? [] : [options.nodeOptions])];
  return [
    `- Machine: ${cpu}, ${cores} cores, ${memoryGib} GiB, ${system}; a synced 8 KiB write takes ${syncMs.toFixed(2)} ms`,
    `- Node ${node}, ${date}, commit ${commit}; the gateway is started with \`${nodeOptions.join(' ')}\``,
    `- PostgreSQL: ${shown.join(', ')}`,
  ].join('\n');
}

function renderSection({ title, tables, notes, withheld }: SectionReport): string[] {
  const parts = [`## ${title}`, ...tables.map(({ columns, rows }) => textTable(columns, rows))];
  if (withheld.length > 0) parts.push(`**Ratios are withheld.**\n\n${withheld.map((why) => `- ${why}`).join('\n')}`);
  if (notes.length > 0) parts.push(notes.map((note) => `- ${note}`).join('\n'));
  return parts;
}
