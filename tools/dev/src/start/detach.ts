import { spawn } from 'node:child_process';
import { closeSync } from 'node:fs';
import { join } from 'node:path';
import { dataFolder, prepareDataFolder } from './data-folder.ts';
import { openLog } from './log-file.ts';
import { detachedMark, reportOf } from './reporter.ts';

/** Starts the same again in the background, passes on what it says until it is ready, and gives the exit code. */
export async function detach(parameters: readonly string[], dataPath: string): Promise<number> {
  const data = dataFolder(dataPath);
  prepareDataFolder(data);
  const output = openLog(data.startLog);
  const program = join(import.meta.dirname, '../main.ts');
  const child = spawn(process.execPath, [...process.execArgv, program, 'start', ...parameters], {
    detached: true,
    env: { ...process.env, [detachedMark]: '1' },
    stdio: ['ignore', output, output, 'ipc'],
  });
  closeSync(output);
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => child.kill(name));
  return new Promise((done) => {
    let failed = false;
    child.on('message', (message) => {
      const report = reportOf(message);
      if (report === undefined) return;
      failed ||= report.kind === 'failure';
      (report.kind === 'failure' ? process.stderr : process.stdout).write(`${report.text}\n`);
      if (report.kind !== 'ready') return;
      child.disconnect();
      child.unref();
      done(0);
    });
    child.on('error', (error) => {
      process.stderr.write(`The start could not be put into the background: ${error.message}\n`);
      done(1);
    });
    child.on('exit', (code) => {
      if (code !== 0 && !failed) process.stderr.write(`The start ended without a word; its log is ${data.startLog}.\n`);
      done(code ?? 1);
    });
  });
}
