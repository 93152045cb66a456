import { runCli } from './cli.ts';

/** Only installed by a command that needs it: others are ended by the signal itself. */
function stopSignal(): AbortSignal {
  const stop = new AbortController();
  for (const name of ['SIGTERM', 'SIGINT'] as const) process.once(name, () => stop.abort());
  return stop.signal;
}

process.exitCode = await runCli(process.argv.slice(2), {
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
  directory: '.',
  stopSignal,
});
