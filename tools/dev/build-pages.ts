import { existsSync, readdirSync } from 'node:fs';
import { join, relative } from 'node:path';
import { workspaceRoot } from './src/workspace.ts';

/** Inputs of the pages of an app. */
interface BuiltPages {
  /** esbuild's format of a bundle: which files of which packages are in it. */
  readonly outputs: Readonly<Record<string, { readonly inputs: Readonly<Record<string, { bytesInOutput: number }>> }>>;
  /** Files and folders, absolute. */
  readonly inputs: readonly string[];
}

/**
 * Builds the pages of an app with `web/vite.config.ts` into `<place>/web`. Vite is loaded only then: it is large, and
 * `npm start` runs for days. @throws Error if the build fails.
 */
export async function buildPages(app: string, place: string): Promise<BuiltPages> {
  const web = join(app, 'web');
  const configFile = join(web, 'vite.config.ts');
  if (!existsSync(configFile)) return { outputs: {}, inputs: [] };
  const { build } = await import('vite');
  const outDir = join(place, 'web');
  const environment = process.env['NODE_ENV'];
  // Any other value, from a test or a shell, would build React's development version.
  process.env['NODE_ENV'] = 'production';
  // The native loader writes no file beside packages, where a plain user may have no write access.
  const built = await build({
    configFile,
    configLoader: 'native',
    logLevel: 'error',
    build: { outDir, emptyOutDir: true, write: true },
  }).finally(() => {
    // Restored for the code that runs after the build: tests, or the demo.
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

/** Added and removed files change the mtime of their folder. */
function sourcesIn(folder: string): string[] {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return [folder, ...entries.map(({ parentPath, name }) => join(parentPath, name))];
}

const ownModules = (outputs: BuiltPages['outputs']): string[] =>
  Object.values(outputs)
    .flatMap(({ inputs }) => Object.keys(inputs))
    .filter((file) => !file.includes('node_modules') && existsSync(join(workspaceRoot, file)))
    .map((file) => join(workspaceRoot, file));
