import { EXPECTATIONS } from './conformance/expectations.ts';
import type { InspectorCase } from './inspector/inspector-case.ts';

const row = (...cells: string[]): string => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;

/** The table of the README about the inspector. */
export function inspectorTable(cases: readonly InspectorCase[]): string {
  const rows = cases.map(({ name, exitCode, shows }) => row(`\`${name}\``, String(exitCode), shows));
  return [row('call', 'exit code', 'what it is expected to show'), '|---|---|---|', ...rows].join('\n');
}

/** The table of the README about the suite. */
export function conformanceTable(): string {
  const rows = EXPECTATIONS.map(({ revision, scenario, because }) =>
    row(revision, `\`${scenario}\``, because === undefined ? 'passes' : `not applicable: ${because}`),
  );
  return [row('revision', 'scenario', 'expected'), '|---|---|---|', ...rows].join('\n');
}
