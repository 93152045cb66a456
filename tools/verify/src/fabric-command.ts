import type { Command } from 'commander';
import { checkFabric } from './fabric/check-fabric.ts';
import { type FabricProofFile, readFabricProof } from './fabric/proof-file.ts';
import { type ChannelTrust, readTrustFile } from './fabric/trust-file.ts';
import { pathIn, readJson } from './read-file.ts';
import { type CommandHost, runCheck } from './run-check.ts';
import { UnreadableError } from './shape.ts';

const FABRIC_HELP = `
FILE is the JSON {asset, receipt, proof} of the ledger peer (/api/assets/<id>?proof=true), the {receipt, proof} of another
surface, or the proof alone; "receipt" takes it as well. The trust file pins the organisations of the channel: make it with "npx sealgate fabric trust <channel>", or get it from a source you trust,
not from the sender of the proof.

  sealgate-verify fabric proof.json --trust channel.json`;

/** Adds `fabric`. */
export function addFabricCommand(program: Command, host: CommandHost): void {
  program
    .command('fabric')
    .description('check that peers of a Fabric channel signed for a record')
    .argument('<file>', 'the JSON {asset, receipt, proof} of a record')
    .requiredOption('--trust <file>', 'the pinned organisations and policies of the channel')
    .option('--json', 'print the report as JSON')
    .addHelpText('after', FABRIC_HELP)
    .action(async (path: string, options: { trust: string; json?: boolean }) => {
      await runCheck(host, { name: 'fabric', options: { json: options.json } }, async () => {
        const { name, value } = await readJson(pathIn(host.directory, path));
        return checkFabric({ file: readFabricProof(name, value), trust: await readTrust(host, options.trust) });
      });
    });
}

export const TRUST_OPTION = [
  '--trust <file>',
  'for proofs of Fabric: the pinned organisations and policies of the channel (npx sealgate fabric trust)',
] as const;

/** The pinned organisations of the channels of these proofs. @throws UnreadableError if they were not given. */
export async function neededTrust(
  host: CommandHost,
  path: string | undefined,
  { name, channel }: Pick<FabricProofFile, 'name' | 'channel'>,
): Promise<ChannelTrust> {
  if (path !== undefined) return readTrust(host, path);
  throw new UnreadableError(
    `${name} holds a proof of the Fabric channel ${channel}: give the trust file of that channel with --trust ` +
      '(npx sealgate fabric trust makes it).',
  );
}

/** @throws UnreadableError */
export async function readTrust(host: CommandHost, path: string): Promise<ChannelTrust> {
  const { name, value } = await readJson(pathIn(host.directory, path));
  return readTrustFile(name, value);
}
