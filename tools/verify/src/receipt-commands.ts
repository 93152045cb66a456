import type { Command } from 'commander';
import { checkAnswer } from './check-answer.ts';
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

  sealgate-verify receipt proof.json --key log.vkey --data sent.json`;

const ANSWER_HELP = `
ANSWER is what the gateway answered to the write; PROOF the JSON {receipt, proof} of one of its records, fetched later.
Id, channel, transactionId, index and leafHash have to agree, and the proof has to hold.

  sealgate-verify answer answer.json proof.json --key log.vkey`;

/** Adds `receipt` and `answer`. */
export function addReceiptCommands(program: Command, host: CommandHost): void {
  withKeyOptions(program.command('receipt'))
    .description('is this record in the log, with this content?')
    .argument('<file>', 'the JSON {receipt, proof} of a record')
    .option('--data <file>', 'the content as JSON, as it was written')
    .addHelpText('after', RECEIPT_HELP)
    .action(async (path: string, options: CommonOptions & { data?: string }) => {
      await runKeyedCheck(host, { name: 'receipt', options }, async ({ verifier }) => {
        const file = await readReceipt(pathIn(host.directory, path));
        const data = options.data === undefined ? undefined : await readJson(pathIn(host.directory, options.data));
        return checkReceipt({ file, verifier, data });
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
}

async function readReceipt(path: string): Promise<ReceiptFile> {
  const { name, value } = await readJson(path);
  return readReceiptFile(name, value);
}
