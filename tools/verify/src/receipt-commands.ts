import type { Command } from 'commander';
import { checkAnswer } from './check-answer.ts';
import { checkDeclaration, readDeclarationFile } from './check-declaration.ts';
import type { DeclarationFile } from './check-declaration.ts';
import { checkReceipt } from './check-receipt.ts';
import type { CommandHost } from './cli.ts';
import { pathIn, readJson } from './read-file.ts';
import { readReceiptFile } from './receipt-file.ts';
import type { ReceiptFile } from './receipt-file.ts';
import { runKeyedCheck, withKeyOptions } from './run-check.ts';
import type { CommonOptions } from './run-check.ts';
import { readWriteAnswer } from './write-answer.ts';

const RECEIPT_HELP = `
FILE is the JSON {receipt, proof} that the admin API and the ledger peer serve for a record. Its content is checked when it
stands beside the receipt (receipt.data, record.data, asset.data) or is given with --data. An erased record still proves
that something was written then.

A channel that lost records goes on in an epoch of its own, whose declaration the ledger peer serves as
/ledger/<channel>/e<N>/declaration: with it, the holder of an older receipt is told whether its record was lost.

  sealgate-verify receipt proof.json --key log.vkey --data sent.json
  sealgate-verify receipt old-proof.json --key log.vkey --declaration declaration.json`;

const ANSWER_HELP = `
ANSWER is what the gateway answered to the write; PROOF the JSON {receipt, proof} of one of its records, fetched later.
Id, channel, transactionId, index and leafHash have to agree, and the proof has to hold.

  sealgate-verify answer answer.json proof.json --key log.vkey`;

/** Adds `receipt`, `answer` and `declaration`. */
export function addReceiptCommands(program: Command, host: CommandHost): void {
  withKeyOptions(program.command('receipt'))
    .description('is this record in the log, with this content?')
    .argument('<file>', 'the JSON {receipt, proof} of a record')
    .option('--data <file>', 'the content as JSON, as it was written')
    .option('--declaration <file>', 'the declaration of a later epoch, or a proof from it: was this record lost?')
    .addHelpText('after', RECEIPT_HELP)
    .action(async (path: string, options: CommonOptions & { data?: string; declaration?: string }) => {
      await runKeyedCheck(host, { name: 'receipt', options }, async ({ verifier }) => {
        const file = await readReceipt(pathIn(host.directory, path));
        const data = options.data === undefined ? undefined : await readJson(pathIn(host.directory, options.data));
        const declared = options.declaration === undefined ? undefined : await readDeclared(host, options.declaration);
        return checkReceipt({ file, verifier, data, declaration: declared });
      });
    });

  withKeyOptions(program.command('answer'))
    .description('is what a write was answered with what the log proves?')
    .argument('<answer>', "the gateway's answer to the write, as JSON")
    .argument('<proof>', 'the JSON {receipt, proof} of one of its records')
    .addHelpText('after', ANSWER_HELP)
    .action(async (answerPath: string, proofPath: string, options: CommonOptions) => {
      await runKeyedCheck(host, { name: 'answer', options }, async ({ verifier }) => {
        const { name, value } = await readJson(pathIn(host.directory, answerPath));
        const file = await readReceipt(pathIn(host.directory, proofPath));
        return checkAnswer({ records: readWriteAnswer(name, value), file, verifier });
      });
    });

  withKeyOptions(program.command('declaration'))
    .description('does a log begin with this declaration of a loss, and what was lost?')
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

async function readReceipt(path: string): Promise<ReceiptFile> {
  const { name, value } = await readJson(path);
  return readReceiptFile(name, value);
}
