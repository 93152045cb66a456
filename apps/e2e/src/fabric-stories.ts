import { afterAll, afterEach, beforeAll, describe } from '@jest/globals';
import { bulkStory } from './fabric-bulk.ts';
import { chaosStory } from './fabric-chaos.ts';
import { contentionStories } from './fabric-contention.ts';
import { crashStories } from './fabric-crashes.ts';
import { gatewayChaosStory } from './fabric-gateway-chaos.ts';
import { gatewayStories } from './fabric-gateway.ts';
import { foreignStories } from './fabric-foreign.ts';
import { memoryStory } from './fabric-memory.ts';
import { outageStories } from './fabric-outages.ts';
import { setupTimeoutMs } from './harness/contract-setup.ts';
import type { FabricNetwork } from './harness/fabric-network.ts';
import { fabricStage, type FabricStage } from './harness/fabric-stage.ts';

/** The stories of everything that writes to Fabric, run on any network that can inject faults. */
export function describeFabric(title: string, open: () => Promise<FabricNetwork>): void {
  let network: FabricNetwork;
  const networkOf = (): FabricNetwork => network;

  describe(title, () => {
    beforeAll(async () => {
      network = await open();
    }, setupTimeoutMs);
    afterEach(() => network.mend(), setupTimeoutMs);
    afterAll(() => network?.close(), setupTimeoutMs);

    peerStories(networkOf);
    gatewayStories(networkOf);
    gatewayChaosStory(networkOf);
  });
}

function peerStories(networkOf: () => FabricNetwork): void {
  describe('behind two ledger peers', () => {
    let stage: FabricStage;
    const stageOf = (): FabricStage => stage;
    beforeAll(async () => {
      stage = await fabricStage(networkOf());
    }, setupTimeoutMs);
    afterAll(() => stage?.stop(), setupTimeoutMs);

    bulkStory(stageOf);
    foreignStories(stageOf);
    contentionStories(stageOf);
    outageStories(stageOf);
    crashStories(stageOf);
    chaosStory(stageOf);
    memoryStory(stageOf);
  });
}
