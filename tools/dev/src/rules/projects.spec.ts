import { spawnSync } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { programs, workspaceRoot } from '../workspace.ts';

interface Project {
  readonly targets?: Readonly<Record<string, { readonly inputs?: readonly string[] }>>;
}

const folders = globSync('{apps,libs,tools}/**/project.json', {
  cwd: workspaceRoot,
  exclude: ['**/node_modules/**', '**/dist/**'],
}).map(dirname);

/** The unit tests below a folder that are not in a nested project. */
function unitTestsOf(folder: string): string[] {
  if (folder === 'apps/e2e') return []; // Its stories always run.
  const within = folders.filter((other) => other.startsWith(`${folder}/`));
  return globSync(`${folder}/**/*.spec.ts`, { cwd: workspaceRoot, exclude: ['**/node_modules/**'] }).filter(
    (file) => !file.endsWith('.int.spec.ts') && !within.some((other) => file.startsWith(`${other}/`)),
  );
}

const projectAt = (folder: string): Project =>
  JSON.parse(readFileSync(join(workspaceRoot, folder, 'project.json'), 'utf8')) as Project;

/** Whether a test reads files outside its project, as far as its source shows. */
function readsBeyond(folder: string, file: string): boolean {
  const text = readFileSync(join(workspaceRoot, file), 'utf8');
  if (/\bworkspaceRoot\b/.test(text)) return true;
  const paths = [...text.matchAll(/import\.meta\.(?:dirname|url)\b[^\n]*?'((?:\.\.\/)+[^']*|(?:\.\.\/)*\.\.)'/g)];
  return paths.some(([, path]) => !normalize(join(dirname(file), path!, '/')).startsWith(`${folder}/`));
}

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
  it('are rebuilt and retested when their imports change', () => {
    const of = dependencies();
    for (const surface of ['risk-partner', 'case-gate', 'ledger-peer', 'ingest-gateway'])
      expect([surface, of.get(surface)]).toEqual([
        surface,
        expect.arrayContaining(['http', 'service-host', 'storage']),
      ]);
    expect(of.get('console')).toEqual(expect.arrayContaining(['http', 'service-host', 'console-web']));
    expect(of.get('console-web')).toEqual(expect.arrayContaining(['client', 'verify']));
    expect(of.get('verify')).toEqual(expect.arrayContaining(['envelope', 'errors', 'json', 'merkle']));
  });

  it('are found', () => expect(folders.length).toBeGreaterThan(30));

  it.each(folders)('%s is linted and tested by npm test', (folder) => {
    const { targets = {} } = projectAt(folder);
    expect(Object.keys(targets)).toContain('lint');
    expect(Object.hasOwn(targets, 'test')).toBe(unitTestsOf(folder).length > 0);
  });

  it.each(folders)('%s has its tests rerun when files outside it change that they read', (folder) => {
    const { targets = {} } = projectAt(folder);
    const beyond = unitTestsOf(folder).filter((file) => readsBeyond(folder, file));
    expect(targets['test']?.inputs?.includes('repository') === true ? [] : beyond).toEqual([]);
  });
});
