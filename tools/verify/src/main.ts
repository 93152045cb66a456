import { runCli } from './cli.ts';

/** Only installed by a command that needs it: others are ended by the signal itself. */
function stopSignal(): AbortSignal {
  const stop = new AbortController();
  for (const name of ['SIGTERM', 'SIGINT'] as const) process.once(name, () => stop.abort());
  return stop.signal;
}

// A report that nobody got verifies nothing.
process.stdout.on('error', ({ code = '' }: NodeJS.ErrnoException) => {
  if (code !== 'EPIPE') process.stderr.write(`sealgate-verify: standard output cannot be written: ${code}.\n`);
  process.exit(2);
});

process.exitCode = await runCli(process.argv.slice(2), {
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
  directory: '.',
  stopSignal,
});
