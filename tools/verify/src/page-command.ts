import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import type { CommandHost } from './cli.ts';

/** Where `npm run build` leaves the page. */
export const PAGE_FILE = join(import.meta.dirname, '../../../apps/console/dist/verify.html');

const HELP = `
The page is one file: copy it, open it in a browser, drop proofs, checkpoints, envelopes and packs on it. It needs no network
and sends nothing.`;

/** Adds `page`. */
export function addPageCommand(program: Command, host: CommandHost, file = PAGE_FILE): void {
  program
    .command('page')
    .description('where does the page lie that checks the same in a browser, from a disk?')
    .addHelpText('after', HELP)
    .action(() => {
      if (existsSync(file)) {
        host.out(`${file}\n`);
        host.exit(0);
        return;
      }
      host.err('sealgate-verify page: the page is not built yet: run npm run build.\n');
      host.exit(2);
    });
}
