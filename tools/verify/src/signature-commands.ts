import type { Jwks, PartnerEnvelope } from '@sealgate/envelope';
import { AppError } from '@sealgate/errors';
import { parseStrict } from '@sealgate/json';
import type { Command } from 'commander';
import { checkEligibility, eligibilityIn } from './check-eligibility.ts';
import { checkEnvelope, envelopeIn } from './check-envelope.ts';
import { checkSigned } from './check-signed.ts';
import { checkProofsByPeers } from './fabric-checks.ts';
import { readTrust, TRUST_OPTION } from './fabric-command.ts';
import { readKeySet } from './given-keys.ts';
import { pinnedKey } from './pinned-key.ts';
import { pathIn, readBytes, readJson, readText } from './read-file.ts';
import { type CommandHost, type CommonOptions, runCheck, withKeyOptions } from './run-check.ts';
import { UnreadableError } from './shape.ts';

const ENVELOPE_HELP = `
FILE is the unchanged body of a response of /api/v1. The signature is the header Evidence-Signature: give its value, or a
file with it (such as the headers saved by curl -D). Pin the key set: save /.well-known/jwks.json once, from a source you
trust. Proofs in the envelope are checked if --key or --dev-json gives the key of the log, and those of Fabric if --trust
gives the pinned organisations of the channel.

  sealgate-verify envelope risks.json --signature risks.headers --jwks partner.jwks.json
  sealgate-verify envelope proofs.json --signature proofs.headers --jwks partner.jwks.json --key log.vkey`;

const ELIGIBILITY_HELP = `
FILE is the unchanged body of a response of /v1/eligibility/{subject_ref}; it contains its signature.

  sealgate-verify eligibility record.json --jwks gate.jwks.json`;

/** Adds `envelope` and `eligibility`. */
export function addEnvelopeCommand(program: Command, host: CommandHost): void {
  withKeyOptions(program.command('envelope'))
    .description('check the signature of a partner envelope, and its proofs')
    .argument('<file>', 'the envelope, as JSON')
    .option('--signature <file or jws>', 'its detached signature, or a file with it')
    .option('--jwks <file>', 'the pinned key set')
    .option(...TRUST_OPTION)
    .addHelpText('after', ENVELOPE_HELP)
    .action(async (path: string, options: CommonOptions & SignatureOptions & { trust?: string }) => {
      await runCheck(host, { name: 'envelope', options }, async () => {
        const { name, value } = await readJson(pathIn(host.directory, path));
        const envelope = envelopeIn(value);
        if (envelope === undefined) throw new UnreadableError(`${name} is no partner envelope (svc.partner.v1).`);
        const signature = await readSignature(host, options);
        const isPinned = options.key !== undefined || options.devJson !== undefined;
        const verifier = isPinned ? (await pinnedKey(options, host)).verifier : undefined;
        const trust = options.trust === undefined ? undefined : await readTrust(host, options.trust);
        const byPeers = trust && (await checkProofsByPeers({ name, envelope }, trust));
        return checkEnvelope({ name, envelope, signature, verifier, byPeers });
      });
    });

  program
    .command('eligibility')
    .description('check the signature of an eligibility record')
    .argument('<file>', 'the record, as JSON')
    .option('--jwks <file>', 'the pinned key set')
    .option('--json', 'print the report as JSON')
    .addHelpText('after', ELIGIBILITY_HELP)
    .action(async (path: string, options: { jwks?: string; json?: boolean }) => {
      await runCheck(host, { name: 'eligibility', options }, async () => {
        const { name, value } = await readJson(pathIn(host.directory, path));
        const document = eligibilityIn(value);
        if (document === undefined) throw new UnreadableError(`${name} is no eligibility record.`);
        const set = options.jwks === undefined ? undefined : await readJson(pathIn(host.directory, options.jwks));
        return checkEligibility({ name, document, jwks: set && readKeySet(set.name, set.value) });
      });
    });
}

interface SignedOptions extends SignatureOptions {
  readonly sha256?: string;
  readonly json?: boolean;
}

const SIGNED_HELP = `
FILE has exactly the signed bytes: save the unchanged body of the response. A partner envelope is checked like with
"envelope". The signature is a detached JWS: give it, or a file with it. Pin the key set: save /.well-known/jwks.json once,
from a source you trust. A hash alone is reported as "unchanged since hashed" and is not verified: whoever changed the
document could have recomputed it.

  sealgate-verify signed document.json --signature document.jws --jwks keys.json`;

/** Adds `signed`. */
export function addSignedCommand(program: Command, host: CommandHost): void {
  program
    .command('signed')
    .description('check the detached signature of a document')
    .argument('<file>', 'the document')
    .option('--signature <file or jws>', 'its detached signature, or a file with it')
    .option('--jwks <file>', 'the pinned key set')
    .option('--sha256 <hex>', 'the hash received with the document')
    .option('--json', 'print the report as JSON')
    .addHelpText('after', SIGNED_HELP)
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
        // The signature of an envelope does not cover all bytes of the file.
        if (envelope !== undefined) return checkEnvelope({ name, envelope, signature });
        return checkSigned({ name, bytes, signature, hash });
      });
    });
}

function envelopeOf(bytes: Uint8Array): PartnerEnvelope | undefined {
  try {
    return envelopeIn(parseStrict(bytes));
  } catch (error) {
    // Other signed documents need not be JSON.
    if (error instanceof AppError) return undefined;
    throw error;
  }
}

function readHash({ sha256 }: SignedOptions): string | undefined {
  if (sha256 === undefined || /^[0-9a-f]{64}$/i.test(sha256)) return sha256;
  throw new UnreadableError('--sha256 takes 64 hex digits.');
}

/** Signature options of commands that check a signed document. */
interface SignatureOptions {
  /** A detached JWS, or a file with one. */
  readonly signature?: string | undefined;
  /** A file with the pinned key set. */
  readonly jwks?: string | undefined;
}

/**
 * The signature and the trusted keys; undefined if neither was given. @throws UnreadableError for one without the
 * other.
 */
async function readSignature(
  host: CommandHost,
  { signature, jwks }: SignatureOptions,
): Promise<{ readonly jws: string; readonly jwks: Jwks } | undefined> {
  if (signature === undefined && jwks === undefined) return undefined;
  if (signature === undefined) throw new UnreadableError('--jwks is given without --signature.');
  if (jwks === undefined) throw new UnreadableError('--signature is given without --jwks: pin the keys to trust.');
  const { name, value } = await readJson(pathIn(host.directory, jwks));
  const jws = looksLikeJws(signature) ? signature : signatureIn(await readText(pathIn(host.directory, signature)));
  return { jws, jwks: readKeySet(name, value) };
}

/** A file with only the signature, or with the headers of its response. */
function signatureIn(text: string): string {
  const header = /^evidence-signature:[ \t]*(\S+)[ \t]*\r?$/im.exec(text);
  return header?.[1] ?? text.trim();
}

/** Three parts separated by dots, and much longer than file names. */
function looksLikeJws(text: string): boolean {
  return text.length > 100 && /^[\w-]+\.[\w-]*\.[\w-]*$/.test(text);
}
