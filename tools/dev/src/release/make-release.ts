import { hash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tarGz, type TarEntry } from '@sealgate/fabric-devnet';
import type { NoteSigner } from '@sealgate/merkle';
import { parseDocument } from 'yaml';
import { projectFiles, readProjectFile } from '../rules/project-files.ts';
import { UserError } from '../start/user-error.ts';
import { packageClient } from '../../package-client.ts';
import { generateClientTypes } from '../generate-clients.ts';
import { buildSurface } from '../surfaces/bundled.ts';
import { workspaceRoot } from '../workspace.ts';
import { imageNames, makeImageTree } from './image-tree.ts';

interface ReleaseOptions {
  /** Replaced as a whole once everything is built. */
  readonly output: string;
  /** Undefined for a dry run. */
  readonly signer: NoteSigner | undefined;
  readonly commit: string;
  readonly committedSeconds: number;
}

/** Files included with the pages: the pages, what they link to, and the files for operators. */
const DOCUMENTS = /^(?:[A-Z]+(?:\.md)?|(?:docker|infra)\/.*|(?:apps|libs|tools)\/.*(?:\.md|openapi\.json|RESULTS.*))$/;

/**
 * Builds a release: for each surface its image tree and SBOM, the Dockerfile that builds images from these, the
 * verifier, the admin command, the chart, the pages, the notes of the version, and SHA256SUMS of all, which is signed.
 * One commit always gives the same bytes. @throws UserError if the changelog has no section for the version.
 */
export async function makeRelease(
  options: ReleaseOptions,
): Promise<{ files: number; version: string; commit: string }> {
  const { output, signer, commit, committedSeconds } = options;
  const { version } = JSON.parse(readProjectFile('package.json')) as { version: string };
  const making = `${output}.${process.pid}`;
  const files = new Map<string, Uint8Array>();
  const add = (name: string, bytes: Uint8Array | string) => files.set(name, Buffer.from(bytes));
  const pack = (name: string, entries: readonly TarEntry[]) => add(name, tarGz(entries, committedSeconds));
  rmSync(making, { recursive: true, force: true });
  mkdirSync(making, { recursive: true });
  process.env['SEALGATE_COMMIT'] = commit;
  try {
    for (const name of imageNames()) {
      const tree = join(making, name);
      await makeImageTree(name, tree);
      pack(`sealgate-${name}-${version}.tar.gz`, entriesOf(tree));
      add(`sealgate-${name}-${version}.cdx.json`, readFileSync(join(tree, 'app/sbom.cdx.json')));
      if (name === 'console') add(`sealgate-verify-${version}.html`, readFileSync(join(tree, 'app/web/verify.html')));
    }
    await buildSurface('admin', join(making, 'admin/app'), { mapsAt: join(workspaceRoot, 'app') });
    pack(`sealgate-admin-${version}.tar.gz`, entriesOf(join(making, 'admin')));
    await generateClientTypes();
    await packageClient();
    pack(`sealgate-client-${version}.tgz`, entriesOf(join(workspaceRoot, 'libs/client/dist'), 'package/'));
    // Named and laid out as by Helm.
    pack(`sealgate-${version}.tgz`, chartEntries(commit));
    pack(`sealgate-docs-${version}.tar.gz`, projectEntries(DOCUMENTS, ''));
    add('Dockerfile', releaseDockerfile(readProjectFile('docker/Dockerfile'), { version, commit }));
    add('RELEASE-NOTES.md', changelogSection(readProjectFile('CHANGELOG.md'), version));
  } finally {
    rmSync(making, { recursive: true, force: true });
  }
  const names = [...files.keys()].toSorted();
  const sums = names.map((name) => `${hash('sha256', files.get(name)!)}  ${name}\n`).join('');
  add('SHA256SUMS', sums);
  if (signer !== undefined) add('SHA256SUMS.note', signer.sign(sums));
  mkdirSync(making, { recursive: true });
  for (const [name, bytes] of files) writeFileSync(join(making, name), bytes);
  rmSync(output, { recursive: true, force: true });
  renameSync(making, output);
  return { files: files.size, version, commit };
}

function entriesOf(folder: string, prefix = ''): TarEntry[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = `${prefix}${entry.name}`;
    return entry.isDirectory()
      ? entriesOf(join(folder, entry.name), `${path}/`)
      : [{ path, bytes: readFileSync(join(folder, entry.name)) }];
  });
}

const projectEntries = (which: RegExp, prefix: string): TarEntry[] =>
  projectFiles()
    .filter((path) => which.test(path))
    .map((path) => ({ path: `${prefix}${path}`, bytes: readFileSync(join(workspaceRoot, path)) }));

/** What `helm package` packs, with the commit, which is in the labels of its resources. */
function chartEntries(commit: string): TarEntry[] {
  return projectEntries(/^infra\/helm\//, '').map(({ path, bytes }) => ({
    path: path.replace(/^infra\/helm/, 'sealgate'),
    bytes: path.endsWith('/Chart.yaml') ? withRevision(bytes, commit) : bytes,
  }));
}

function withRevision(chart: Uint8Array, commit: string): Uint8Array {
  const document = parseDocument(Buffer.from(chart).toString());
  document.setIn(['annotations', 'sealgate/revision'], commit);
  return Buffer.from(document.toString());
}

/**
 * The Dockerfile of a release: the final stage, with the tree from the surface's archive instead of a build. So an
 * image needs neither sources nor a package registry, only the base image.
 */
function releaseDockerfile(
  dockerfile: string,
  { version, commit }: { readonly version: string; readonly commit: string },
): string {
  const stages = dockerfile.split(/^(?=FROM )/m);
  const deployed = stages.at(-1) ?? '';
  const copied = deployed
    .replace('COPY --from=build /image/ /', `ADD sealgate-\${SURFACE}-${version}.tar.gz /`)
    .replace('ARG REVISION=unknown', `ARG REVISION=${commit}`)
    .replace(/^# --build-arg REVISION.*\n/m, '');
  if (stages.length !== 3 || !copied.includes('\nADD ') || !copied.includes(`ARG REVISION=${commit}\n`))
    throw new Error('docker/Dockerfile does not have the expected stages.');
  const base = /^ARG NODE_IMAGE=.*$/m.exec(stages[0] ?? '')?.[0] ?? '';
  return [
    '# syntax=docker/dockerfile:1',
    '# In the folder of the release: docker build --build-arg SURFACE=ingest-gateway -t sealgate/ingest-gateway .',
    '# The base image by its digest: --build-arg NODE_IMAGE=docker.io/library/node:24-slim@sha256:...',
    base,
    '',
    copied,
  ].join('\n');
}

/** The changes of the version. @throws UserError if the changelog has no section for it. */
function changelogSection(changelog: string, version: string): string {
  const section = changelog.split(/^(?=## \[)/m).find((part) => part.startsWith(`## [${version}]`));
  if (section === undefined) throw new UserError(`CHANGELOG.md has no section for ${version}.`);
  return `${section.trim()}\n`;
}
