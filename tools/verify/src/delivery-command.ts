import type { Command } from 'commander';
import { checkDelivery, senderKey, type SenderKey } from './check-delivery.ts';
import type { CommandHost } from './cli.ts';
import { pathIn, readBytes, readJson, readText } from './read-file.ts';
import { runCheck } from './run-check.ts';
import { UnreadableError } from './unreadable-error.ts';

interface DeliveryOptions {
  readonly body?: string;
  readonly senderKey?: readonly string[];
  readonly json?: boolean;
}

const HELP = `
FILE is the record as the admin API gives it (npx sealgate ledger record), or its receipt and proof. --body is the raw delivery,
byte by byte as its sender sent it. The key is the sender's public one, whpk_ and base64, from where you trust it. Only what a
public key signed (Standard Webhooks v1a) can be checked; that the record is in the ledger is shown by its receipt.

  sealgate-verify delivery record.json --body delivery.bin --sender-key whpk_...`;

/** Adds `delivery`. */
export function addDeliveryCommand(program: Command, host: CommandHost): void {
  program
    .command('delivery')
    .description('did the sender of a webhook sign the delivery that a record was made from?')
    .argument('<file>', 'the record, or its receipt and proof, as JSON')
    .option('--body <file>', 'the raw delivery')
    .option('--sender-key <whpk>', 'a pinned public key of the sender, or a file that holds one; repeatable', collect)
    .option('--json', 'print the report as JSON')
    .addHelpText('after', HELP)
    .action(async (path: string, options: DeliveryOptions) => {
      await runCheck(host, { name: 'delivery', options }, async () => {
        const { body, senderKey: given = [] } = options;
        if (body === undefined) throw new UnreadableError('Give the raw delivery with --body.');
        if (given.length === 0) throw new UnreadableError('Give a public key of the sender with --sender-key.');
        const keys = await Promise.all(given.map((text) => readKey(host, text)));
        const { name, value } = await readJson(pathIn(host.directory, path));
        return checkDelivery({ name, value, body: await readBytes(pathIn(host.directory, body)), keys });
      });
    });
}

const collect = (key: string, before: readonly string[] = []): string[] => [...before, key];

async function readKey(host: CommandHost, given: string): Promise<SenderKey> {
  const text = given.startsWith('whpk_') ? given : (await readText(pathIn(host.directory, given))).trim();
  const key = senderKey(text);
  if (key === undefined) throw new UnreadableError('A public key of a sender is whpk_ and 32 bytes in base64.');
  return key;
}
