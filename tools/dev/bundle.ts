import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build, stop, type Metafile, type OutputFile, type Plugin } from 'esbuild';
import { buildPages } from './build-pages.ts';
import { billOfMaterials, bundledPackages, noticesOf, type PackagedOutputs } from './bundled-packages.ts';
import { appsWith, workspaceRoot } from './src/workspace.ts';

/** Bundled CommonJS loads Node's modules through `require`, which an ES module does not have. */
const banner = `import { createRequire as createRequireOfBundle } from 'node:module';
const require = createRequireOfBundle(import.meta.url);`;

/** Optional dependencies of pg and of Fabric's gateway client; never used here. */
const external = ['pg-native', 'pg-cloudflare', 'pkcs11js'];

/** Entry points in the sources of an app. */
const PROGRAM = /^(main|migrate|[a-z-]+-worker)\.ts$/;

/** Commands that are released as bundles besides the surfaces: folders in `tools`. */
const BUNDLED_TOOLS = ['admin', 'verify'];

/** A place of a source file that is replaced in a bundle, and in the bundle alone: a planted defect. */
export interface BundleEdit {
  /** From the root of the workspace; TypeScript or SQL. */
  readonly file: string;
  /** Occurs once. */
  readonly find: string;
  readonly replace: string;
}

/**
 * Builds `apps/<name>/dist`, `tools/<name>/dist` for a command, or another output folder: main.js, migrate.js and the
 * worker programs if the app has them, the SQL of all its migration sets in `migrations/<set name>`, LICENSE,
 * THIRD-PARTY-NOTICES.txt and sbom.cdx.json, and the pages of the app in `web`. A surface is deployed by copying that
 * folder. It is built in a temporary folder and then swapped in, so that a surface starting meanwhile finds either the
 * old or the new one. Source maps are relative to `mapsAt`: reproducible builds use a fixed folder. `edit` is for tests.
 *
 * Returns the files and folders it was built from. @throws Error if the app has no main.ts, the code does not bundle,
 * two sets share a name, or the place to edit is not there once.
 */
export async function bundleSurface(
  name: string,
  output?: string,
  { mapsAt = output, edit }: { readonly mapsAt?: string | undefined; readonly edit?: BundleEdit } = {},
): Promise<string[]> {
  const app = join(workspaceRoot, BUNDLED_TOOLS.includes(name) ? 'tools' : 'apps', name);
  const place = output ?? join(app, 'dist');
  const edited = edit && { file: edit.file, text: editedText(edit) };
  if (!existsSync(join(app, 'src/main.ts'))) {
    throw new Error(`There is no surface ${name}: apps/${name}/src/main.ts is missing.`);
  }
  const making = `${place}.${process.pid}`;
  try {
    const { outputFiles, metafile } = await runEsbuild(app, mapsAt ?? place, edited);
    mkdirSync(making, { recursive: true });
    for (const { path, contents } of outputFiles) writeFileSync(join(making, basename(path)), contents);
    const pages = await buildPages(app, making);
    writeInventory(name, [metafile, pages], making);
    const sets = await migrationSetsOf(app);
    for (const [set, directory] of sets) cpSync(directory, join(making, 'migrations', set), { recursive: true });
    if (edited !== undefined && metafile.inputs[edited.file] === undefined) editMigration(edited, sets, making);
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
      ...(existsSync(operationsOf(app)) ? appsWith(ADMIN_DOCUMENT).map(documentOf) : []),
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
 * Builds in memory: source maps refer to the final folder. The esbuild process is stopped: otherwise it would live as
 * long as `npm start`, which runs for days.
 */
async function runEsbuild(
  app: string,
  place: string,
  edited: Edited | undefined,
): Promise<{ outputFiles: OutputFile[]; metafile: Metafile }> {
  try {
    return withoutUnused(await esbuild(app, place, edited));
  } finally {
    await stop();
  }
}

/**
 * Without the chunks that no program imports. esbuild writes one for a dynamic import whose module it has dropped: the
 * migrations of a library that a program without a database uses for something else.
 */
function withoutUnused({ outputFiles, metafile }: { outputFiles: OutputFile[]; metafile: Metafile }) {
  const used = new Set<string>();
  const use = (file: string): void => {
    if (used.has(file)) return;
    used.add(file);
    for (const { path, external: isOutside } of metafile.outputs[file]?.imports ?? []) if (!isOutside) use(path);
  };
  for (const [file, { entryPoint }] of Object.entries(metafile.outputs))
    if (entryPoint !== undefined && PROGRAM.test(basename(entryPoint))) use(file);
  const isUsed = (file: string): boolean => used.has(file.replace(/\.map$/, ''));
  const kept = Object.entries(metafile.outputs).filter(([file]) => isUsed(file));
  const paths = new Set(kept.map(([file]) => join(workspaceRoot, file)));
  return {
    outputFiles: outputFiles.filter(({ path }) => paths.has(path)),
    metafile: { ...metafile, outputs: Object.fromEntries(kept) },
  };
}

const esbuild = async (app: string, place: string, edited: Edited | undefined) =>
  build({
    entryPoints: programsOf(join(app, 'src')),
    outdir: place,
    write: false,
    absWorkingDir: workspaceRoot,
    bundle: true,
    platform: 'node',
    format: 'esm',
    // Dynamic imports (such as a ledger driver) are separate chunks, loaded on demand.
    splitting: true,
    target: 'node24',
    // V8 keeps the source text: minified, a process idles some MiB lower. Names stay, for stacks.
    minifyWhitespace: true,
    sourcemap: true,
    define: await buildDefinitions(app),
    // Source maps contain positions, enough for stacks; the sources are not deployed.
    sourcesContent: false,
    legalComments: 'none', // THIRD-PARTY-NOTICES.txt has them in full.
    logLevel: 'silent', // Errors are thrown.
    metafile: true,
    banner: { js: banner },
    external,
    plugins: edited === undefined ? [] : [editing(edited)],
  });

/** A file in its place, and its text. */
interface Edited {
  readonly file: string;
  readonly text: string;
}

/** The text of the file with its one place replaced. @throws Error unless the place is there once. */
function editedText({ file, find, replace }: BundleEdit): string {
  const [before = '', after, ...others] = readFileSync(join(workspaceRoot, file), 'utf8').split(find);
  if (after === undefined || others.length > 0) throw new Error(`${file} does not have this once: ${find}`);
  return `${before}${replace}${after}`;
}

/** @throws Error if the file is in no set: then the surface is not made of it. */
function editMigration({ file, text }: Edited, sets: ReadonlyMap<string, string>, folder: string): void {
  const [set] = [...sets].find(([, directory]) => directory === join(workspaceRoot, dirname(file))) ?? [];
  if (set === undefined) throw new Error(`The surface is not made of ${file}.`);
  writeFileSync(join(folder, 'migrations', set, basename(file)), text);
}

const editing = ({ file, text }: Edited): Plugin => ({
  name: 'edit',
  setup({ onLoad }) {
    const path = join(workspaceRoot, file);
    onLoad({ filter: /\.ts$/ }, (loaded) => (loaded.path === path ? { contents: text, loader: 'ts' } : null));
  },
});

/**
 * Build information: the version of the workspace, and the commit from SEALGATE_COMMIT. For a command that is made from
 * OpenAPI documents (`src/operations.ts`), what it needs of them.
 */
async function buildDefinitions(app: string): Promise<Record<string, string>> {
  const { version } = JSON.parse(readFileSync(join(workspaceRoot, 'package.json'), 'utf8')) as { version: string };
  return {
    SEALGATE_BUILD_VERSION: JSON.stringify(version),
    SEALGATE_BUILD_COMMIT: JSON.stringify(process.env['SEALGATE_COMMIT'] ?? ''),
    ...(existsSync(operationsOf(app)) ? { SEALGATE_ADMIN_OPERATIONS: await operationsIn(operationsOf(app)) } : {}),
  };
}

/** Made from the OpenAPI documents of all admin APIs. */
const operationsOf = (app: string): string => join(app, 'src/operations.ts');
const ADMIN_DOCUMENT = 'admin-openapi.json';
const documentOf = (app: string): string => join(workspaceRoot, 'apps', app, ADMIN_DOCUMENT);

async function operationsIn(file: string): Promise<string> {
  const { operations } = (await import(pathToFileURL(file).href)) as { operations: unknown };
  return JSON.stringify(operations);
}

const filesIn = (folder: string): string[] => readdirSync(folder).map((file) => join(folder, file));

/** `main.ts`, `migrate.ts`, and each `*-worker.ts` beside them: a worker thread needs its own file. */
const programsOf = (folder: string): string[] =>
  readdirSync(folder)
    .filter((file) => PROGRAM.test(file))
    .map((file) => join(folder, file));

/** The `migrations` exported by `<app>/src/*-migrations.ts`: the sets of the app and of its libs. */
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
