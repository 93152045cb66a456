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
  const rows = EXPECTATIONS.map(({ scenario, check, says, because }) =>
    row(
      scenario === check ? `\`${check}\`` : `\`${scenario}\`: \`${check}\``,
      because === undefined ? 'passes' : `not applicable: ${because}${says === undefined ? '' : ` (“${says}”)`}`,
    ),
  );
  return [row('check', 'expected'), '|---|---|', ...rows].join('\n');
}
