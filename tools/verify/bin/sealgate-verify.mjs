#!/usr/bin/env node
// Plain JavaScript for any Node from 20 on: the verifier is TypeScript and needs a Node that strips types, so an older Node
// runs it with the Node 24 that the repository installs.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { constants } from 'node:os';
import { fileURLToPath } from 'node:url';

const OLDEST_MAJOR = 24;
const [major] = process.versions.node.split('.').map(Number);
const runsTypeScript = major >= OLDEST_MAJOR && process.features.typescript === 'strip';

if (runsTypeScript) {
  await import(new URL('../src/main.ts', import.meta.url).href);
} else {
  process.exitCode = runWithOwnNode();
}

function runWithOwnNode() {
  const name = process.platform === 'win32' ? 'node.exe' : 'node';
  const node = fileURLToPath(new URL(`../../../node_modules/node/bin/${name}`, import.meta.url));
  if (!existsSync(node)) {
    console.error(`sealgate-verify needs Node ${OLDEST_MAJOR}: run "npm ci" in the repository, or use a newer Node.`);
    return 2;
  }
  const main = fileURLToPath(new URL('../src/main.ts', import.meta.url));
  const child = spawnSync(node, [main, ...process.argv.slice(2)], { stdio: 'inherit' });
  if (child.error !== undefined) {
    console.error(`sealgate-verify could not start ${node}: ${child.error.message}`);
    return 2;
  }
  // Like a shell: 128 plus the number of the signal that killed it.
  return child.status ?? 128 + (constants.signals[child.signal] ?? 0);
}
