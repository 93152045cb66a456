/**
 * Runs on any Node from 20 on, without dependencies: installs the packages if needed, then runs the command with the Node
 * that the workspace pins. Usage: node tools/dev/bootstrap.mjs <command> [...].
 */
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';

const root = resolve(import.meta.dirname ?? dirname(new URL(import.meta.url).pathname), '../..');
const modules = join(root, 'node_modules');
const lockFile = join(root, 'package-lock.json');
const stampFile = join(modules, '.sealgate-installed');
const pinnedNode = join(modules, 'node/bin', process.platform === 'win32' ? 'node.exe' : 'node');

const oldest = 20;
if (Number(process.versions.node.split('.')[0]) < oldest)
  fail(`Node ${oldest} or later is needed; this is ${process.version}.`);

if (!isInstalled()) install();
const node = chooseNode();
run(node, [join(root, 'tools/dev/src/main.ts'), ...process.argv.slice(2)]);

function fail(sentence) {
  process.stderr.write(`${sentence}\n`);
  process.exit(1);
}

function lockHash() {
  return createHash('sha256').update(readFileSync(lockFile)).digest('hex');
}

/** By our stamp, or by npm's record of what it installed: `npm ci` was run by hand, or only our own version changed. */
function isInstalled() {
  if (existsSync(stampFile) && readFileSync(stampFile, 'utf8') === lockHash()) return true;
  const left = join(modules, '.package-lock.json');
  if (!existsSync(left)) return false;
  const wanted = packagesIn(lockFile);
  const there = packagesIn(left);
  const isThere = ([path, { version, resolved, optional, devOptional }]) =>
    there[path] === undefined
      ? optional === true || devOptional === true
      : there[path].version === version && there[path].resolved === resolved;
  const named = Object.entries(wanted).filter(([path]) => path.startsWith('node_modules/'));
  if (named.length === 0 || !named.every(isThere) || Object.keys(there).some((path) => wanted[path] === undefined))
    return false;
  stamp();
  return true;
}

/** Packages by path. npm writes the same format to the lock file and, after installing, to node_modules. */
function packagesIn(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8')).packages ?? {};
  } catch {
    return {}; // Truncated, or missing: nothing matches, and npm reports the error.
  }
}

function stamp() {
  try {
    writeFileSync(stampFile, lockHash());
  } catch {
    // A read-only checkout works, too; it only repeats this check at each start.
  }
}

function install() {
  process.stdout.write('Installing packages (npm ci); this takes a minute or two the first time.\n');
  // The tools are devDependencies, so NODE_ENV=production must not leave them out.
  const result = spawnSync('npm', ['ci', '--include=dev', '--include=optional', '--no-audit', '--no-fund'], {
    cwd: root,
    stdio: 'inherit',
    shell: process.platform === 'win32',
  });
  if (result.status !== 0) fail('npm ci failed; see its output above.');
  stamp();
}

function chooseNode() {
  if (existsSync(pinnedNode)) return pinnedNode;
  if (Number(process.versions.node.split('.')[0]) >= 24) return process.execPath;
  return fail(
    'The pinned Node is missing: npm did not run the install script of the package `node`. Run `npm rebuild node`.',
  );
}

/**
 * Forwards signals and waits for the exit, so that stopping this process stops everything in order. Programs of the
 * workspace run from their sources: Node keeps what it makes of them, which halves the CPU of a start.
 */
function run(program, parameters) {
  const path = [dirname(program), join(modules, '.bin'), process.env.PATH ?? ''].join(delimiter);
  const cache = join(modules, '.cache/compiled');
  const child = spawn(program, ['--disable-warning=ExperimentalWarning', ...parameters], {
    cwd: root,
    stdio: 'inherit',
    env: { NODE_COMPILE_CACHE: cache, ...process.env, PATH: path },
  });
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(name, () => child.kill(name));
  child.on('error', (error) => fail(`${program} could not be started: ${error.message}`));
  child.on('exit', (code, signal) => process.exit(code ?? 128 + (constants.signals[signal] ?? 0)));
}
