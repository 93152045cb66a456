import type { Command } from 'commander';
import { checkSigned } from './check-signed.ts';
import type { SignedInput } from './check-signed.ts';
import type { CommandHost } from './cli.ts';
import { readKeySet } from './key-set.ts';
import { pathIn, readBytes, readJson, readText } from './read-file.ts';
import { runCheck } from './run-check.ts';
import { UnreadableError } from './unreadable-error.ts';

interface SignedOptions {
  readonly signature?: string;
  readonly jwks?: string;
  readonly sha256?: string;
  readonly json?: boolean;
}

const HELP = `
FILE holds exactly the bytes that were signed: save the body of the answer as it came. The signature is a detached JWS, as in
the header Evidence-Signature. Pin the key set: save /.well-known/jwks.json once, from where you trust it. A hash alone is
reported as "unchanged since hashed" and is not verified: whoever changed the document could have hashed it anew.

  sealgate-verify signed envelope.json --signature envelope.jws --jwks partner.jwks.json`;

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
        return checkSigned({ name, bytes: await readBytes(name), signature, hash });
      });
    });
}

async function readSignature(host: CommandHost, options: SignedOptions): Promise<SignedInput['signature']> {
  const { signature, jwks } = options;
  if (signature === undefined && jwks === undefined) return undefined;
  if (signature === undefined) throw new UnreadableError('--jwks is given without --signature.');
  if (jwks === undefined) throw new UnreadableError('--signature is given without --jwks: pin the keys to trust.');
  const { name, value } = await readJson(pathIn(host.directory, jwks));
  const jws = looksLikeJws(signature) ? signature : (await readText(pathIn(host.directory, signature))).trim();
  return { jws, jwks: readKeySet(name, value) };
}

function readHash({ sha256 }: SignedOptions): string | undefined {
  if (sha256 === undefined || /^[0-9a-f]{64}$/i.test(sha256)) return sha256;
  throw new UnreadableError('--sha256 takes 64 hex digits.');
}

/** Three dotted parts, and far longer than file names are. */
function looksLikeJws(text: string): boolean {
  return text.length > 100 && /^[\w-]+\.[\w-]*\.[\w-]*$/.test(text);
}
