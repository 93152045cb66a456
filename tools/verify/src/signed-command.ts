import type { PartnerEnvelope } from '@sealgate/envelope';
import { AppError } from '@sealgate/errors';
import { parseStrict } from '@sealgate/json';
import type { Command } from 'commander';
import { checkEnvelope, envelopeIn } from './check-envelope.ts';
import { checkSigned } from './check-signed.ts';
import type { CommandHost } from './cli.ts';
import { pathIn, readBytes } from './read-file.ts';
import { runCheck } from './run-check.ts';
import { readSignature } from './signature-options.ts';
import type { SignatureOptions } from './signature-options.ts';
import { UnreadableError } from './unreadable-error.ts';

interface SignedOptions extends SignatureOptions {
  readonly sha256?: string;
  readonly json?: boolean;
}

const HELP = `
FILE holds exactly the bytes that were signed: save the body of the answer as it came. A partner envelope is checked as
"envelope" does. The signature is a detached JWS: give it, or a file that holds it. Pin the key set: save
/.well-known/jwks.json once, from where you trust it. A hash alone is reported as "unchanged since hashed" and is not
verified: whoever changed the document could have hashed it anew.

  sealgate-verify signed document.json --signature document.jws --jwks keys.json`;

/** Adds `signed`. */
export function addSignedCommand(program: Command, host: CommandHost): void {
  program
    .command('signed')
    .description('did the owner of a pinned key sign exactly these bytes?')
    .argument('<file>', 'the document')
    .option('--signature <file or jws>', 'its detached signature, or a file that holds it')
    .option('--jwks <file>', 'the pinned key set')
    .option('--sha256 <hex>', 'the hash that came with the document')
    .option('--json', 'print the report as JSON')
    .addHelpText('after', HELP)
    .action(async (path: string, options: SignedOptions) => {
      await runCheck(host, { name: 'signed', options }, async () => {
        const name = pathIn(host.directory, path);
        const signature = await readSignature(host, options);
        const hash = readHash(options);
        if (signature === undefined && hash === undefined) {
          throw new UnreadableError('Give --signature and --jwks (or --sha256, which alone verifies nothing).');
        }
        const bytes = await readBytes(name);
        const envelope = hash === undefined ? envelopeOf(bytes) : undefined;
        // What is signed of an envelope are not all the bytes of the file.
        if (envelope !== undefined) return checkEnvelope({ name, envelope, signature });
        return checkSigned({ name, bytes, signature, hash });
      });
    });
}

function envelopeOf(bytes: Uint8Array): PartnerEnvelope | undefined {
  try {
    return envelopeIn(parseStrict(bytes));
  } catch (error) {
    // Whatever else is signed need not be JSON.
    if (error instanceof AppError) return undefined;
    throw error;
  }
}

function readHash({ sha256 }: SignedOptions): string | undefined {
  if (sha256 === undefined || /^[0-9a-f]{64}$/i.test(sha256)) return sha256;
  throw new UnreadableError('--sha256 takes 64 hex digits.');
}
