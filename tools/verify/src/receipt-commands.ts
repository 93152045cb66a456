import type { Command } from 'commander';
import { checkAnswer, readAnswered, readWriteAnswer } from './check-answer.ts';
import { checkDeclaration, type DeclarationFile, readDeclarationFile } from './check-declaration.ts';
import { checkLogProof } from './check-log-proof.ts';
import { checkReceipt } from './check-receipt.ts';
import { checkFabric } from './fabric/check-fabric.ts';
import { isFabricProof, readFabricProof } from './fabric/proof-file.ts';
import { checkAnswerByPeers } from './fabric-checks.ts';
import { neededTrust, TRUST_OPTION } from './fabric-command.ts';
import { type KeyOptions, pinnedKey, readPolicy } from './pinned-key.ts';
import { pathIn, readBytes, readJson, readText } from './read-file.ts';
import { readReceiptFile } from './receipt-file.ts';
import {
  type CommandHost,
  type CommonOptions,
  runCheck,
  runKeyedCheck,
  runMaybeKeyedCheck,
  withKeyOptions,
} from './run-check.ts';
import { UnreadableError } from './shape.ts';

const RECEIPT_HELP = `
FILE is the JSON {receipt, proof} of a record from the admin API or the ledger peer. Its content is checked if it is in the
file (receipt.data, record.data, asset.data) or given with --data. An erased record still proves that something was written.

A channel that lost records continues in a new epoch, whose declaration the ledger peer serves as
/ledger/<channel>/e<N>/declaration: with it, the check of an older receipt reports whether its record was lost.

A proof that peers of a Fabric channel signed is checked with --trust, and needs no key of a log.

  sealgate-verify receipt proof.json --key log.vkey --data sent.json
  sealgate-verify receipt old-proof.json --key log.vkey --declaration declaration.json
  sealgate-verify receipt proof.json --trust channel.json`;

const ANSWER_HELP = `
ANSWER is the gateway's response to the write; PROOF the JSON {receipt, proof} of one of its records, fetched later.
Id, channel, transactionId, index and leafHash must agree, and the proof must be valid. On Fabric a record has no index and no
leafHash; the proof of its peers is checked with --trust, and needs no key of a log.

  sealgate-verify answer answer.json proof.json --key log.vkey
  sealgate-verify answer answer.json proof.json --trust channel.json`;

interface ReceiptOptions extends CommonOptions {
  readonly data?: string;
  readonly declaration?: string;
  readonly trust?: string;
}

/** Adds `receipt`, `answer` and `declaration`. */
export function addReceiptCommands(program: Command, host: CommandHost): void {
  withKeyOptions(program.command('receipt'))
    .description('check that a record is in the log, or on Fabric, with its content')
    .argument('<file>', 'the JSON {receipt, proof} of a record')
    .option(...TRUST_OPTION)
    .option('--data <file>', 'the content as JSON, as written')
    .option(
      '--declaration <file>',
      'the declaration of a later epoch, or a proof from it, to find out whether the record was lost',
    )
    .addHelpText('after', RECEIPT_HELP)
    .action(async (path: string, options: ReceiptOptions) => {
      await runMaybeKeyedCheck(host, { name: 'receipt', options }, async (pinned) => {
        const { name, value } = await readJson(pathIn(host.directory, path));
        const data = options.data === undefined ? undefined : await readJson(pathIn(host.directory, options.data));
        const declared = options.declaration === undefined ? undefined : await readDeclared(host, options.declaration);
        if (!isFabricProof(value)) {
          const { verifier } = await pinned();
          return checkReceipt({ file: readReceiptFile(name, value), verifier, data, declaration: declared });
        }
        if (declared !== undefined) throw new UnreadableError(`${name} is of no log: leave --declaration out.`);
        const file = readFabricProof(name, value);
        const trust = await neededTrust(host, options.trust, file);
        return checkFabric({ file, trust, content: data && { where: `${data.name}#`, value: data.value } });
      });
    });

  withKeyOptions(program.command('answer'))
    .description('check the response to a write against the log, or on Fabric')
    .argument('<answer>', "the gateway's response to the write, as JSON")
    .argument('<proof>', 'the JSON {receipt, proof} of one of its records')
    .option(...TRUST_OPTION)
    .addHelpText('after', ANSWER_HELP)
    .action(async (answerPath: string, proofPath: string, options: CommonOptions & { trust?: string }) => {
      await runMaybeKeyedCheck(host, { name: 'answer', options }, async (pinned) => {
        const answer = await readJson(pathIn(host.directory, answerPath));
        const proof = await readJson(pathIn(host.directory, proofPath));
        if (!isFabricProof(proof.value)) {
          const { verifier } = await pinned();
          const file = readReceiptFile(proof.name, proof.value);
          return checkAnswer({ records: readWriteAnswer(answer.name, answer.value), file, verifier });
        }
        const file = readFabricProof(proof.name, proof.value);
        const trust = await neededTrust(host, options.trust, file);
        return checkAnswerByPeers({ records: readAnswered(answer.name, answer.value), file, trust });
      });
    });

  withKeyOptions(program.command('declaration'))
    .description('check the declaration of a loss, and list what was lost')
    .argument('<file>', 'the declaration of an epoch, or a proof from it')
    .action(async (path: string, options: CommonOptions) => {
      await runKeyedCheck(host, { name: 'declaration', options }, async ({ verifier }) =>
        checkDeclaration({ file: await readDeclared(host, path), verifier }),
      );
    });
}

async function readDeclared(host: CommandHost, path: string): Promise<DeclarationFile> {
  const { name, value } = await readJson(pathIn(host.directory, path));
  return readDeclarationFile(name, value);
}

const PROOF_HELP = `
FILE is a C2SP tlog-proof file: a record's index, its inclusion path, and a checkpoint signed by the log, and perhaps cosigned
by witnesses. The ledger peer serves it as /ledger/<channel>/records/<id>/proof?format=tlog-proof; the preimage of the leaf
is in the file, or given with --entry. The POLICY (C2SP tlog-policy) lists the trusted logs and witnesses; without a log in it,
or without a policy, pin the key of the log as for other commands.

  sealgate-verify proof order-7.tlog-proof --policy policy.txt
  sealgate-verify proof order-7.tlog-proof --key log.vkey`;

/** Adds `proof`. */
export function addProofCommand(program: Command, host: CommandHost): void {
  withKeyOptions(program.command('proof'))
    .description('check a record with a stand-alone tlog-proof file')
    .argument('<file>', 'a tlog-proof file')
    .option('--entry <file>', 'the preimage of the leaf, if it is not in the file')
    .addHelpText('after', PROOF_HELP)
    .action(async (path: string, options: CommonOptions & { entry?: string }) => {
      await runCheck(host, { name: 'proof', options }, async () => {
        const where = pathIn(host.directory, path);
        const text = await readText(where);
        const entry = options.entry === undefined ? undefined : await readBytes(pathIn(host.directory, options.entry));
        const policy =
          options.policy === undefined ? undefined : await readPolicy(pathIn(host.directory, options.policy));
        const logs = await pinnedLogs(options, (policy?.logs.length ?? 0) > 0, host);
        return checkLogProof({ text, where, entry, policy, logs });
      });
    });
}

/** The pinned key, unless the policy names logs and no key was given. */
async function pinnedLogs({ policy: _, ...pins }: KeyOptions, policyHasLogs: boolean, host: CommandHost) {
  if (policyHasLogs && pins.key === undefined && pins.devJson === undefined) return undefined;
  return (await pinnedKey(pins, host)).verifier;
}
