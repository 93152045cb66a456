import type { Command } from 'commander';
import { checkFabric } from './fabric/check-fabric.ts';
import { readFabricProof } from './fabric/proof-file.ts';
import { readTrustFile } from './fabric/trust-file.ts';
import { pathIn, readJson } from './read-file.ts';
import { type CommandHost, runCheck } from './run-check.ts';

const FABRIC_HELP = `
FILE is the JSON {asset, receipt, proof} of the ledger peer (/api/assets/<id>?proof=true), or its proof alone. The trust file
pins the organisations of the channel: make it with "npx sealgate fabric trust <channel>", or get it from a source you trust,
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
        const proof = await readJson(pathIn(host.directory, path));
        const trust = await readJson(pathIn(host.directory, options.trust));
        return checkFabric({
          file: readFabricProof(proof.name, proof.value),
          trust: await readTrustFile(trust.name, trust.value),
        });
      });
    });
}
