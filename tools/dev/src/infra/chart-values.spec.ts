import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { readProjectFile, readYaml } from '../rules/project-files.ts';
import { workspaceRoot } from '../workspace.ts';
import { chartValuesTable } from './chart-values.ts';

const FILE = 'infra/helm/VALUES.md';
const page = (): string => `# Values of the chart

Generated from [values.yaml](values.yaml) and [values.schema.json](values.schema.json), which refuses all other values. The values files of the surfaces are in [values](values).

${chartValuesTable()}
`;

it('VALUES.md matches values.yaml and its schema', () => {
  if (process.env['UPDATE_DOCUMENTS'] === '1') writeFileSync(join(workspaceRoot, FILE), page());
  expect(readFileSync(join(workspaceRoot, FILE), 'utf8')).toBe(page());
});

it('VALUES.md has all values with their descriptions', () => {
  const rows = readProjectFile(FILE)
    .split('\n')
    .filter((line) => line.startsWith('| `'));
  for (const name of Object.keys(readYaml('infra/helm/values.yaml') as object))
    expect(rows.filter((row) => row.startsWith(`| \`${name}`)).length).toBeGreaterThan(0);
  expect(rows).toContainEqual(
    '| `replicas` | integer from 1 to 1000 | `2` | Number of servers. Ignored with autoscaling.enabled. |',
  );
  expect(rows).toContainEqual(expect.stringMatching(/^\| `monitor\.logs` \| array \| `\[\]` \| URLs of logs: /));
  expect(rows).toContainEqual(
    expect.stringMatching(/^\| `monitor` \| +\| +\| `sealgate-verify monitor`: follows logs/),
  );
});
