import { existsSync, readdirSync } from 'node:fs';
import { join, relative } from 'node:path';
import { workspaceRoot } from './src/workspace.ts';

/** What pages of an app were made of. */
export interface BuiltPages {
  /** As esbuild tells of a bundle: which files of which packages are in it. */
  readonly outputs: Readonly<Record<string, { readonly inputs: Readonly<Record<string, { bytesInOutput: number }>> }>>;
  /** Files and folders, absolute. */
  readonly inputs: readonly string[];
}

/**
 * Makes the pages of an app that has `web/vite.config.ts`, in `<place>/web`. Vite is loaded only then: it is large, and a
 * start stays for days.
 * @throws Error where they do not build.
 */
export async function buildPages(app: string, place: string): Promise<BuiltPages> {
  const web = join(app, 'web');
  const configFile = join(web, 'vite.config.ts');
  if (!existsSync(configFile)) return { outputs: {}, inputs: [] };
  const { build } = await import('vite');
  const outDir = join(place, 'web');
  const environment = process.env['NODE_ENV'];
  // Under any other value, that of a test or of a developer's shell, React's development build would be deployed.
  process.env['NODE_ENV'] = 'production';
  // The native loader writes no file of its own beside packages, where a plain user may not.
  const built = await build({
    configFile,
    configLoader: 'native',
    logLevel: 'error',
    build: { outDir, emptyOutDir: true, write: true },
  }).finally(() => {
    // Whoever builds goes on: to tests, or to people of a demo.
    if (environment === undefined) delete process.env['NODE_ENV'];
    else process.env['NODE_ENV'] = environment;
  });
  const outputs: Record<string, { inputs: Record<string, { bytesInOutput: number }> }> = {};
  for (const { output } of [built].flat().filter((one) => 'output' in one)) {
    for (const chunk of output) {
      if (chunk.type !== 'chunk') continue;
      const inputs = Object.entries(chunk.modules).map(([id, { renderedLength }]) => [
        relative(workspaceRoot, id.split('?')[0] ?? id),
        { bytesInOutput: renderedLength },
      ]);
      outputs[chunk.fileName] = { inputs: Object.fromEntries(inputs) };
    }
  }
  return { outputs, inputs: [configFile, ...sourcesIn(web), ...ownModules(outputs)] };
}

/** A file that appears, or goes, changes its folder. */
function sourcesIn(folder: string): string[] {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return [folder, ...entries.map(({ parentPath, name }) => join(parentPath, name))];
}

const ownModules = (outputs: BuiltPages['outputs']): string[] =>
  Object.values(outputs)
    .flatMap(({ inputs }) => Object.keys(inputs))
    .filter((file) => !file.includes('node_modules') && existsSync(join(workspaceRoot, file)))
    .map((file) => join(workspaceRoot, file));
