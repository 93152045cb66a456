import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { EXPECTED_FAILURES } from './expected-failures.ts';
import { keyProxy } from './key-proxy.ts';
import { parseParameters, USAGE, UserError, type Parameters } from './surface-target.ts';

/** npx fetches them at run time, so that no deployed package depends on them. */
const INSPECTOR = '@modelcontextprotocol/inspector@2.12.0';
const CONFORMANCE = '@modelcontextprotocol/conformance@0.2.0-alpha.12';

/** What `inspect` calls when it is given no inspector options. `--strict` fails on tool schemas that are not portable. */
const INSPECTOR_CALLS = [
  ['--method', 'initialize'],
  ['--method', 'initialize', '--protocol-era', 'modern'],
  ['--method', 'tools/list', '--strict'],
  ['--method', 'tools/call', '--tool-name', 'whoami'],
  ['--method', 'tools/call', '--tool-name', 'list_risks', '--tool-arg', 'limit=2'],
  ['--method', 'resources/templates/list'],
  ['--method', 'prompts/list'],
];

/** Runs the inspector with the address and the key. Returns the exit code of the first call that fails, else 0. */
async function inspect({ url, key, passedOn }: Parameters, folder: string): Promise<number> {
  const server = ['--server-url', `${url}/mcp`, '--transport', 'http', '--header', `Authorization: Bearer ${key}`];
  for (const call of passedOn.length > 0 ? [passedOn] : INSPECTOR_CALLS) {
    process.stdout.write(`\n${INSPECTOR} ${call.join(' ')}\n`);
    const exitCode = await npx([INSPECTOR, '--cli', ...server, ...call], folder);
    if (exitCode !== 0) return exitCode;
  }
  return 0;
}

/** Runs the suite for each revision through a proxy that adds the key: the suite itself cannot send a header. */
async function conformance({ url, key, passedOn }: Parameters, folder: string): Promise<number> {
  const proxy = await keyProxy({ url, key });
  try {
    let worst = 0;
    for (const [revision, failures] of Object.entries(EXPECTED_FAILURES)) {
      const baseline = join(folder, `${revision}.yml`);
      // The suite reads YAML, of which JSON is a subset.
      writeFileSync(baseline, JSON.stringify({ server: Object.keys(failures) }));
      const options = ['--url', `${proxy.url}/mcp`, '--requirements', revision, '--expected-failures', baseline];
      worst = Math.max(worst, await npx([CONFORMANCE, 'server', ...options, ...passedOn], folder));
    }
    return worst;
  } finally {
    await proxy.close();
  }
}

/** Both programs write into the folder; the inspector would otherwise use the home directory. */
function npx(parameters: readonly string[], folder: string): Promise<number> {
  const own = { npm_config_loglevel: 'error', MCP_STORAGE_DIR: folder, MCP_CATALOG_PATH: join(folder, 'catalog.json') };
  const env = { ...process.env, ...own };
  const child = spawn('npx', ['--yes', ...parameters], { cwd: folder, env, stdio: 'inherit' });
  return new Promise((done, failed) => {
    child.once('error', (error) => failed(new UserError(`npx cannot be run: ${error.message}.`, { cause: error })));
    child.once('exit', (code, signal) => done(code ?? 128 + (signal === null ? 0 : constants.signals[signal])));
  });
}

async function main([command = '', ...parameters]: readonly string[]): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'sealgate-mcp-'));
  try {
    if (command !== 'inspect' && command !== 'conformance') throw new UserError(USAGE);
    const root = resolve(import.meta.dirname, '../../..');
    const parsed = parseParameters(parameters, { env: process.env, root });
    return await { inspect, conformance }[command](parsed, folder);
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    process.stderr.write(`${error.message}\n`);
    return 2;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

process.exitCode = await main(process.argv.slice(2));
