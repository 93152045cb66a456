#!/usr/bin/env node
// Plain JavaScript for any Node from 20 on. The command itself is TypeScript and needs a Node that strips types, so an older
// Node runs it with the Node that the repository installs.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { constants } from 'node:os';
import { fileURLToPath } from 'node:url';

const OLDEST_MAJOR = 24;
const EXIT_USAGE = 2;
const main = new URL('../src/main.ts', import.meta.url);
const [major] = process.versions.node.split('.').map(Number);

if (major >= OLDEST_MAJOR && process.features.typescript === 'strip') {
  await import(main.href);
} else {
  runWithPinnedNode();
}

function runWithPinnedNode() {
  const name = process.platform === 'win32' ? 'node.exe' : 'node';
  const node = fileURLToPath(new URL(`../../../node_modules/node/bin/${name}`, import.meta.url));
  if (!existsSync(node)) {
    fail(`sealgate needs Node ${OLDEST_MAJOR}: run "npm ci" in the repository, or use a newer Node.`);
    return;
  }
  const child = spawn(node, [fileURLToPath(main), ...process.argv.slice(2)], { stdio: 'inherit' });
  // A terminal sends Ctrl-C to both; this process exits with the child.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('error', (error) => fail(`sealgate could not start ${node}: ${error.message}`));
  // Like a shell: 128 plus the number of the signal that killed it.
  child.on('exit', (code, signal) => (process.exitCode = code ?? 128 + (constants.signals[signal] ?? 0)));
}

function fail(sentence) {
  console.error(sentence);
  process.exitCode = EXIT_USAGE;
}
