import { cpSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build, stop, type Metafile } from 'esbuild';
// eslint-disable-next-line @nx/enforce-module-boundaries -- comes with rollup-plugin-dts; package.json pins it under overrides
import { rollup } from 'rollup';
import { dts } from 'rollup-plugin-dts';
import { billOfMaterials, bundledPackages, noticesOf } from './bundled-packages.ts';
import { workspaceRoot } from './src/workspace.ts';

const source = join(workspaceRoot, 'libs/client');
/** The entry points of the package, by the conditions of Node and bundlers; `require` is for Jest and ts-node. */
const outputs = {
  node: { file: 'index.js', platform: 'node', format: 'esm' },
  browser: { file: 'browser.js', platform: 'browser', format: 'esm' },
  require: { file: 'index.cjs', platform: 'node', format: 'cjs' },
} as const;
/** The first version with `crypto.hash`. */
const NODE = '20.12';

/**
 * Builds `libs/client/dist`, the published package: one ES module for Node and one for browsers, a CommonJS module,
 * declarations for both kinds, package.json, README, licences. It has no dependencies: they are bundled. Built in `tmp` and then swapped in, like
 * the bundles of surfaces. @throws Error if the sources do not bundle, or a declaration imports a file of the
 * workspace.
 */
export async function packageClient(): Promise<void> {
  const place = join(source, 'dist');
  const making = join(workspaceRoot, `tmp/client-${process.pid}`);
  rmSync(making, { recursive: true, force: true });
  mkdirSync(making, { recursive: true });
  try {
    const parts = await Promise.all(Object.values(outputs).map((output) => bundle(output, making)));
    const types = await declarations();
    // TypeScript decides by the extension whether a module is CommonJS.
    for (const file of ['index.d.ts', 'index.d.cts']) writeFileSync(join(making, file), types);
    const { version, license } = JSON.parse(readFileSync(join(workspaceRoot, 'package.json'), 'utf8')) as Own;
    const packages = bundledPackages(parts, workspaceRoot);
    writeFileSync(join(making, 'package.json'), `${JSON.stringify(manifest({ version, license }), null, 2)}\n`);
    writeFileSync(join(making, 'THIRD-PARTY-NOTICES.txt'), noticesOf(packages));
    writeFileSync(join(making, 'sbom.cdx.json'), billOfMaterials('@sealgate/client', { version, license }, packages));
    cpSync(join(workspaceRoot, 'LICENSE'), join(making, 'LICENSE'));
    cpSync(join(source, 'README.md'), join(making, 'README.md'));
    rmSync(place, { recursive: true, force: true });
    renameSync(making, place);
  } finally {
    await stop();
    rmSync(making, { recursive: true, force: true });
  }
}

interface Own {
  readonly version: string;
  readonly license: string;
}

const manifest = ({ version, license }: Own) => ({
  name: '@sealgate/client',
  version,
  description: 'Typed client of the Sealgate services: retries, lists, offline checks of signatures and proofs.',
  license,
  type: 'module',
  exports: {
    '.': {
      require: { types: './index.d.cts', default: `./${outputs.require.file}` },
      types: './index.d.ts',
      browser: `./${outputs.browser.file}`,
      default: `./${outputs.node.file}`,
    },
    './package.json': './package.json',
  },
  main: `./${outputs.require.file}`,
  module: `./${outputs.node.file}`,
  types: './index.d.ts',
  sideEffects: false,
  engines: { node: `>=${NODE}` },
});

async function bundle(
  { file, platform, format }: (typeof outputs)[keyof typeof outputs],
  folder: string,
): Promise<Metafile> {
  const { metafile } = await build({
    entryPoints: [join(source, 'src/index.ts')],
    outfile: join(folder, file),
    absWorkingDir: workspaceRoot,
    bundle: true,
    platform,
    format,
    target: platform === 'node' ? `node${NODE}` : 'es2022',
    minifySyntax: true,
    minifyWhitespace: true,
    legalComments: 'none', // THIRD-PARTY-NOTICES.txt has them in full.
    logLevel: 'silent',
    metafile: true,
  });
  return metafile;
}

/** Packages whose types are inlined into the declarations. */
const INSIDE = [
  '@sealgate/envelope',
  '@sealgate/errors',
  '@sealgate/json',
  '@sealgate/merkle',
  'openapi-fetch',
  'openapi-typescript-helpers',
];

/** All exported types in one file. Platform types (`Request`) are left to the user's TypeScript libs. */
async function declarations(): Promise<string> {
  const made = await rollup({
    input: join(source, 'src/index.ts'),
    external: /^node:/,
    treeshake: { moduleSideEffects: false },
    plugins: [dts({ tsconfig: join(workspaceRoot, 'tsconfig.base.json'), includeExternal: INSIDE })],
    onLog: (_level, log) => {
      throw new Error(`The declarations of the client: ${log.message}`);
    },
  });
  try {
    const { output } = await made.generate({ format: 'es' });
    const [{ code }] = output;
    const named = /\b(?:from|import)[ (]*["'][^"']+["']|\bBuffer\b/.exec(code);
    if (output.length > 1 || named !== null) throw new Error(`The declarations of the client name ${named?.[0]}.`);
    return code;
  } finally {
    await made.close();
  }
}
