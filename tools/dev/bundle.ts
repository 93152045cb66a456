import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build, stop, type Metafile, type OutputFile } from 'esbuild';
import { buildPages } from './build-pages.ts';
import { billOfMaterials, bundledPackages, noticesOf, type PackagedOutputs } from './bundled-packages.ts';
import { workspaceRoot } from './src/workspace.ts';

/** Bundled CommonJS asks for Node's own modules through `require`, which an ES module does not have. */
const banner = `import { createRequire as createRequireOfBundle } from 'node:module';
const require = createRequireOfBundle(import.meta.url);`;

/** Asked for by pg and by Fabric's gateway client only where they are installed; we never use them. */
const external = ['pg-native', 'pg-cloudflare', 'pkcs11js'];

/** Commands that are handed out as bundles too, beside the surfaces: folders in `tools`. */
export const BUNDLED_TOOLS = ['admin', 'verify'];

/**
 * Makes `apps/<name>/dist`, or `tools/<name>/dist` of a command, or another output folder: main.js, migrate.js and the
 * programs of its threads where the app has them, and below `migrations/<set name>` the SQL of every migration set of the app; beside them what else is in there:
 * LICENSE, THIRD-PARTY-NOTICES.txt and sbom.cdx.json; below `web` the pages of an app that has any. A surface is
 * deployed by copying that folder. It is made
 * beside its place and then exchanged, so that whoever starts the surface meanwhile finds either the old one or the new one.
 * Source maps are made for files that lie in `mapsAt`: whatever is to be the same wherever it is made names one place.
 * Returns the files and folders that it was made of.
 * Throws Error when the app has no main.ts, the code does not bundle, or two sets share a name.
 */
export async function bundleSurface(name: string, output?: string, mapsAt = output): Promise<string[]> {
  const app = join(workspaceRoot, BUNDLED_TOOLS.includes(name) ? 'tools' : 'apps', name);
  const place = output ?? join(app, 'dist');
  if (!existsSync(join(app, 'src/main.ts'))) {
    throw new Error(`There is no surface ${name}: apps/${name}/src/main.ts is missing.`);
  }
  const making = `${place}.${process.pid}`;
  try {
    const { outputFiles, metafile } = await runEsbuild(app, mapsAt ?? place);
    mkdirSync(making, { recursive: true });
    for (const { path, contents } of outputFiles) writeFileSync(join(making, basename(path)), contents);
    const pages = await buildPages(app, making);
    writeInventory(name, [metafile, pages], making);
    const sets = await migrationSetsOf(app);
    for (const [set, directory] of sets) cpSync(directory, join(making, 'migrations', set), { recursive: true });
    rmSync(place, { recursive: true, force: true });
    renameSync(making, place);
    const inputs = Object.keys(metafile.inputs).map((file) => join(workspaceRoot, file));
    return [
      import.meta.filename,
      join(import.meta.dirname, 'bundled-packages.ts'),
      join(import.meta.dirname, 'build-pages.ts'),
      join(app, 'src'),
      ...inputs,
      ...pages.inputs,
      ...sets.values(),
      ...[...sets.values()].flatMap(filesIn),
    ];
  } finally {
    rmSync(making, { recursive: true, force: true });
  }
}

function writeInventory(name: string, parts: readonly PackagedOutputs[], folder: string): void {
  const packages = bundledPackages(parts, workspaceRoot);
  const own = JSON.parse(readFileSync(join(workspaceRoot, 'package.json'), 'utf8')) as {
    version: string;
    license: string;
  };
  cpSync(join(workspaceRoot, 'LICENSE'), join(folder, 'LICENSE'));
  writeFileSync(join(folder, 'THIRD-PARTY-NOTICES.txt'), noticesOf(packages));
  writeFileSync(join(folder, 'sbom.cdx.json'), billOfMaterials(name, own, packages));
}

/**
 * Nothing is written yet: the source maps are made for where the files will lie. The process that esbuild works in is
 * ended: it would stay as long as we do, and a start stays for days.
 */
async function runEsbuild(app: string, place: string): Promise<{ outputFiles: OutputFile[]; metafile: Metafile }> {
  try {
    return await esbuild(app, place);
  } finally {
    await stop();
  }
}

const esbuild = (app: string, place: string) =>
  build({
    entryPoints: programsOf(join(app, 'src')),
    outdir: place,
    write: false,
    absWorkingDir: workspaceRoot,
    bundle: true,
    platform: 'node',
    format: 'esm',
    // What is imported on demand (a ledger's driver, say) is a file of its own, read only by those who need it.
    splitting: true,
    target: 'node24',
    // V8 keeps the text of what it runs: without blanks and comments a process idles some MiB lower. Names stay, for stacks.
    minifyWhitespace: true,
    sourcemap: true,
    define: buildDefinitions(),
    // Maps say where a line stood, which is all that a stack needs; the sources themselves are not deployed.
    sourcesContent: false,
    legalComments: 'none', // THIRD-PARTY-NOTICES.txt has them whole.
    logLevel: 'silent', // What is wrong comes as the error that it throws.
    metafile: true,
    banner: { js: banner },
    external,
  });

/** What the build says of itself: the version of the workspace, and the commit where SEALGATE_COMMIT names it. */
function buildDefinitions(): Record<string, string> {
  const { version } = JSON.parse(readFileSync(join(workspaceRoot, 'package.json'), 'utf8')) as { version: string };
  return {
    SEALGATE_BUILD_VERSION: JSON.stringify(version),
    SEALGATE_BUILD_COMMIT: JSON.stringify(process.env['SEALGATE_COMMIT'] ?? ''),
  };
}

const filesIn = (folder: string): string[] => readdirSync(folder).map((file) => join(folder, file));

/** `main.ts`, `migrate.ts`, and each `*-worker.ts` beside them: what a thread runs is a file of its own. */
function programsOf(folder: string): string[] {
  const isProgram = (file: string) => /^(main|migrate|[a-z-]+-worker)\.ts$/.test(file);
  return readdirSync(folder)
    .filter(isProgram)
    .map((file) => join(folder, file));
}

/** What `<app>/src/*-migrations.ts` exports as `migrations`: the sets of the app and of the libs that it stands on. */
async function migrationSetsOf(app: string): Promise<Map<string, string>> {
  const source = readdirSync(join(app, 'src')).find((file) => file.endsWith('-migrations.ts'));
  if (source === undefined) return new Map();
  const { migrations } = (await import(pathToFileURL(join(app, 'src', source)).href)) as {
    migrations: readonly { readonly name: string; readonly directory: string }[];
  };
  const sets = new Map(migrations.map(({ name, directory }) => [name, directory]));
  if (sets.size < migrations.length) throw new Error(`Two migration sets of ${app} have one name.`);
  return sets;
}
