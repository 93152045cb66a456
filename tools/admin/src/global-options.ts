import { InvalidArgumentError, Option } from 'commander';
import { wholeNumber } from './command-spec.ts';
import type { ConnectionOptions } from './find-connection.ts';

/** What every command takes, before or after its name. */
export interface GlobalOptions extends ConnectionOptions {
  readonly json?: true;
  readonly timeout?: number;
}

export const DEFAULT_TIMEOUT_SECONDS = 30;
/** Node's own `fetch` gives up after this, whatever it is told. */
const MAX_TIMEOUT_SECONDS = 300;

export function globalOptions(): Option[] {
  return [
    new Option('--json', "print the API's JSON as it came; a refusal is its problem document, on standard error"),
    new Option('--admin-url <url>', 'address of the admin API (also SEALGATE_ADMIN_URL)'),
    new Option('--token <token>', 'admin token; others can see it here, so prefer SEALGATE_ADMIN_TOKEN'),
    new Option('--dev-json <path>', 'take both from this file of `npm start` (else .sealgate/dev.json, here or above)'),
    new Option(
      '--timeout <seconds>',
      `how long one request may take, 1 to ${MAX_TIMEOUT_SECONDS} (default: ${DEFAULT_TIMEOUT_SECONDS})`,
    ).argParser(timeoutSeconds),
  ].map((option) => option.helpGroup('Options of every command:'));
}

function timeoutSeconds(text: string): number {
  const seconds = wholeNumber(text);
  if (seconds >= 1 && seconds <= MAX_TIMEOUT_SECONDS) return seconds;
  throw new InvalidArgumentError(`It must be from 1 to ${MAX_TIMEOUT_SECONDS}.`);
}
