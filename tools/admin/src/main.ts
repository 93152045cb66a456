import { createInterface } from 'node:readline/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { runCli } from './cli.ts';
import { EXIT_CODES } from './errors.ts';

/** On standard error, so that standard output has only the result. */
async function ask(question: string): Promise<string> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    // Ctrl-D ends the input without an answer, which is not a yes.
    return await Promise.race([
      terminal.question(question),
      new Promise<string>((resolve) => terminal.once('close', () => resolve(''))),
    ]);
  } finally {
    terminal.close();
  }
}

// `sealgate events list --all | head` closes the pipe early: not an error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0);
  process.stderr.write(`sealgate: standard output cannot be written: ${error.code ?? error.message}.\n`);
  process.exit(EXIT_CODES.usage);
});

process.exitCode = await runCli(process.argv.slice(2), {
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
  env: process.env,
  directory: process.cwd(),
  uid: process.getuid?.(),
  ask: process.stdin.isTTY && process.stderr.isTTY ? ask : undefined,
  pause: (ms) => pause(ms),
});
