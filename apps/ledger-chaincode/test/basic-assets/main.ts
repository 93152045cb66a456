import { readServerConfig } from '../../src/server-config.ts';
import { serveContracts } from '../../src/serve-contracts.ts';
import { BasicAssetsContract } from './basic-assets-contract.ts';

await serveContracts([BasicAssetsContract], readServerConfig(process.env));
