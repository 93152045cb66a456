import type { Command } from 'commander';
import { checkEligibility, eligibilityIn } from './check-eligibility.ts';
import { checkEnvelope, envelopeIn } from './check-envelope.ts';
import type { CommandHost } from './cli.ts';
import { readKeySet } from './key-set.ts';
import { pinnedKey } from './pinned-key.ts';
import { pathIn, readJson } from './read-file.ts';
import { runCheck, withKeyOptions } from './run-check.ts';
import type { CommonOptions } from './run-check.ts';
import { readSignature } from './signature-options.ts';
import type { SignatureOptions } from './signature-options.ts';
import { UnreadableError } from './unreadable-error.ts';

const HELP = `
FILE is the body of an answer of /api/v1, as it came. The signature is the header Evidence-Signature: give its value, or a
file that holds it (the headers that curl -D saves will do). Pin the key set: save /.well-known/jwks.json once, from where
you trust it. Proofs in the envelope are checked against the key of the log, where --key or --dev-json gives one.

  sealgate-verify envelope risks.json --signature risks.headers --jwks partner.jwks.json
  sealgate-verify envelope proofs.json --signature proofs.headers --jwks partner.jwks.json --key log.vkey`;

const ELIGIBILITY_HELP = `
FILE is the body of an answer of /v1/eligibility/{subject_ref}, as it came; its signature is in it.

  sealgate-verify eligibility record.json --jwks gate.jwks.json`;

/** Adds `envelope` and `eligibility`. */
export function addEnvelopeCommand(program: Command, host: CommandHost): void {
  withKeyOptions(program.command('envelope'))
    .description('is this partner envelope what was signed, and do its proofs lead into the log?')
    .argument('<file>', 'the envelope, as JSON')
    .option('--signature <file or jws>', 'its detached signature, or a file that holds it')
    .option('--jwks <file>', 'the pinned key set')
    .addHelpText('after', HELP)
    .action(async (path: string, options: CommonOptions & SignatureOptions) => {
      await runCheck(host, { name: 'envelope', options }, async () => {
        const { name, value } = await readJson(pathIn(host.directory, path));
        const envelope = envelopeIn(value);
        if (envelope === undefined) throw new UnreadableError(`${name} is no partner envelope (svc.partner.v1).`);
        const signature = await readSignature(host, options);
        const isPinned = options.key !== undefined || options.devJson !== undefined;
        const verifier = isPinned ? (await pinnedKey(options, host)).verifier : undefined;
        return checkEnvelope({ name, envelope, signature, verifier });
      });
    });

  program
    .command('eligibility')
    .description('is this eligibility record what the owner of a pinned key signed?')
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
