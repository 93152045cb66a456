import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { workspaceRoot } from '../workspace.ts';
import { chartSurfaces } from './chart-names.ts';
import { everything } from './chart-settings.fixture.ts';
import { describeWith } from './describe-with.fixture.ts';
import { templateOf } from './helm-render.fixture.ts';

const BUILD_WITHIN_MS = 900_000;
const source = join(workspaceRoot, 'tools/dev/src/infra/kubernetes-check');

/** Custom resources of operators, which Kubernetes itself does not know. */
const foreign = ['skipped HTTPRoute', 'skipped PrometheusRule', 'skipped ServiceMonitor'];

let folder = '';
let problem: string | undefined;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sealgate-kubernetes-'));
  cpSync(source, folder, { recursive: true });
  const built = spawnSync('go', ['build', '-o', 'kubernetes-check', '.'], {
    cwd: folder,
    encoding: 'utf8',
    timeout: BUILD_WITHIN_MS,
  });
  if (built.status !== 0)
    problem = built.error?.message ?? built.stderr.trim().split('\n').at(-1) ?? 'the build failed';
  if (problem !== undefined) process.stderr.write(`SKIPPED: validation of the chart by Kubernetes: ${problem}\n`);
}, BUILD_WITHIN_MS);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function check(manifests: string): string[] {
  const { status, stdout } = spawnSync(join(folder, 'kubernetes-check'), { input: manifests, encoding: 'utf8' });
  expect(status).toBe(0);
  return stdout.split('\n').filter((line) => line !== '' && !foreign.includes(line));
}

describeWith('helm', (helm) => {
  it.each(
    chartSurfaces.flatMap((surface): [string, readonly string[]][] => [
      [surface, []],
      [surface, everything[surface] ?? []],
    ]),
  )('Kubernetes accepts the resources of %s with %j, and admits its pods under "restricted"', (surface, settings) => {
    if (problem !== undefined) return;
    const { ok, output, errors } = templateOf(helm, surface, settings);
    expect({ ok, errors }).toMatchObject({ ok: true });
    expect(check(output)).toEqual([]);
    expect(output.match(/^kind: /gm)?.length).toBeGreaterThan(5);
  });

  it('would reject an unknown field, a duplicate field, and a privileged pod', () => {
    if (problem !== undefined) return;
    const { output } = templateOf(helm, 'case-gate', []);
    expect(check(output.replace('  maxUnavailable: 1\n', '  maxUnavailable: 1\n  maxAvailable: 1\n'))).toEqual([
      expect.stringContaining('unknown field "spec.maxAvailable"'),
    ]);
    expect(check(output.replace('  maxUnavailable: 1\n', '  maxUnavailable: 1\n  maxUnavailable: 2\n'))).toContainEqual(
      expect.stringContaining('"maxUnavailable" already set'),
    );
    expect(
      check(output.replaceAll('allowPrivilegeEscalation: false', 'allowPrivilegeEscalation: true')),
    ).toContainEqual(expect.stringContaining('allowPrivilegeEscalation != false'));
  });
});
