import { resolve } from 'node:path';
import { runMcpCheck } from './run-mcp-check.ts';

process.exitCode = await runMcpCheck(process.argv.slice(2), {
  env: process.env,
  root: resolve(import.meta.dirname, '../../..'),
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
});
