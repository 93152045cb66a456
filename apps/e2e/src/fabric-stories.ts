import { afterAll, afterEach, beforeAll, describe } from '@jest/globals';
import { contentionStories } from './fabric-contention.ts';
import { crashStories } from './fabric-crashes.ts';
import { foreignStories } from './fabric-foreign.ts';
import { memoryStory } from './fabric-memory.ts';
import { outageStories } from './fabric-outages.ts';
import { setupTimeoutMs } from './harness/contract-setup.ts';
import type { FabricNetwork } from './harness/fabric-network.ts';
import { fabricStage, type FabricStage } from './harness/fabric-stage.ts';

/** The stories of the ledger peer on Fabric, told once for every network that can be told to fail. */
export function describeFabric(title: string, open: () => Promise<FabricNetwork>): void {
  describe(`Two ledger peers on ${title}`, () => {
    let network: FabricNetwork;
    let stage: FabricStage;
    beforeAll(async () => {
      network = await open();
      stage = await fabricStage(network);
    }, setupTimeoutMs);
    afterEach(() => network.mend(), setupTimeoutMs);
    afterAll(async () => {
      await stage?.stop();
      await network?.close();
    }, setupTimeoutMs);
    const stageOf = (): FabricStage => stage;

    foreignStories(stageOf);
    contentionStories(stageOf);
    outageStories(stageOf);
    crashStories(stageOf);
    memoryStory(stageOf);
  });
}
