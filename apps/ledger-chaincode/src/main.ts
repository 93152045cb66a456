import { RecordsContract } from './records-contract.ts';
import { readServerConfig } from './server-config.ts';
import { serveContracts } from './serve-contracts.ts';

/** Exit code: 0 after SIGTERM or SIGINT, 1 if it cannot start. */
async function main(): Promise<void> {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => process.exit(0));
  try {
    await serveContracts([RecordsContract], readServerConfig(process.env));
  } catch (error) {
    process.stderr.write(`ledger-chaincode: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(1);
  }
}

await main();
