import { spawnSync } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { programs, workspaceRoot } from '../workspace.ts';

interface Project {
  readonly targets?: Readonly<Record<string, unknown>>;
}

const folders = globSync('{apps,libs,tools}/**/project.json', {
  cwd: workspaceRoot,
  exclude: ['**/node_modules/**', '**/dist/**'],
}).map(dirname);

const projectAt = (folder: string): Project =>
  JSON.parse(readFileSync(join(workspaceRoot, folder, 'project.json'), 'utf8')) as Project;

/** The dependencies of each project in Nx's graph: its results are invalidated when one of these changes. */
function dependencies(): Map<string, string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'sealgate-graph-'));
  try {
    const file = join(folder, 'graph.json');
    const env = { ...process.env, NX_DAEMON: 'false', NX_TUI: 'false' };
    spawnSync(process.execPath, [programs.nx, 'graph', `--file=${file}`], { cwd: workspaceRoot, env });
    const { graph } = JSON.parse(readFileSync(file, 'utf8')) as {
      graph: { dependencies: Record<string, { target: string }[]> };
    };
    return new Map(Object.entries(graph.dependencies).map(([name, to]) => [name, to.map(({ target }) => target)]));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

describe('the projects', () => {
  it('are rebuilt when their imports change', () => {
    const of = dependencies();
    for (const surface of ['risk-partner', 'case-gate', 'ledger-peer', 'ingest-gateway'])
      expect([surface, of.get(surface)]).toEqual([
        surface,
        expect.arrayContaining(['admin-api', 'http', 'service-host', 'storage']),
      ]);
    expect(of.get('console')).toEqual(expect.arrayContaining(['http', 'service-host', 'console-web']));
    expect(of.get('console-web')).toEqual(expect.arrayContaining(['client', 'verify']));
    expect(of.get('verify')).toEqual(expect.arrayContaining(['envelope', 'errors', 'json', 'merkle']));
  });

  it('are found', () => expect(folders.length).toBeGreaterThan(30));

  it.each(folders)('%s is linted', (folder) => expect(Object.keys(projectAt(folder).targets ?? {})).toContain('lint'));
});
