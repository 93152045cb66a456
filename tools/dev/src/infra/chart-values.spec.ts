import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { readProjectFile } from '../rules/project-files.ts';
import { workspaceRoot } from '../workspace.ts';
import { chartValuesTable } from './chart-values.ts';
import { readYaml } from './yaml-file.ts';

const FILE = 'infra/helm/VALUES.md';
const page = (): string => `# Values of the chart

Generated from [values.yaml](values.yaml) and [values.schema.json](values.schema.json), which refuses all other values. The values files of the surfaces are in [values](values).

${chartValuesTable()}
`;

it('the page of values is as values and schema are', () => {
  if (process.env['UPDATE_DOCUMENTS'] === '1') writeFileSync(join(workspaceRoot, FILE), page());
  expect(readFileSync(join(workspaceRoot, FILE), 'utf8')).toBe(page());
});

it('the page of values has each of them, with what a reader has to know', () => {
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
