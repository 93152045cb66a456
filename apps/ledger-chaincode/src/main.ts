import { RecordsContract } from './records-contract.ts';
import { readServerConfig } from './server-config.ts';
import { serveContracts } from './serve-contracts.ts';

/** Ends by exit code: 0 when asked to by a signal, 1 when it cannot start. */
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
