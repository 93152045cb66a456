import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { expectProblem } from '@sealgate/testing';
import { judgeAssets, startAssetLoad } from './harness/asset-load.ts';
import { setupTimeoutMs } from './harness/contract-setup.ts';
import type { RealNetwork } from './harness/fabric-real.ts';
import { fabricStage, type FabricStage } from './harness/fabric-stage.ts';
import type { SyncSummary } from './harness/peer-setup.ts';
import { boundMs } from './harness/scale.ts';

const storyTimeoutMs = 180_000;
const answeredWithinMs = boundMs(6_000);

/**
 * One of two organisations is down, which only a real network can show: on the main channel both must endorse, on the
 * other channel one is enough. The surface knows the gateway peers of both.
 */
export function organizationStories(open: () => Promise<RealNetwork>): void {
  describe('A ledger peer that knows the peers of two organisations', () => {
    let network: RealNetwork;
    let stage: FabricStage;
    beforeAll(async () => {
      network = await open();
      stage = await fabricStage(network, { peers: 1, gatewayPeers: network.bothPeers });
    }, setupTimeoutMs);
    afterEach(() => network.mend(), setupTimeoutMs);
    afterAll(async () => {
      await stage?.stop();
      await network?.close();
    }, setupTimeoutMs);

    const asset = (name: string, type: string) => ({ id: `${stage.tag}-${name}`, type, data: { name } });
    const push = (one: object) => stage.setup.ask('POST', '/api/assets', { body: { assets: [one] } });
    const read = (id: string) => stage.setup.ask('GET', `/api/assets/${id}`);

    it.each(['secondOrganization', 'peer'] as const)(
      'reads all and writes what one organisation may endorse while the %s is down, and the rest once it is back',
      async (which) => {
        const known = asset(`known-${which}`, 'asset');
        expect((await push(known)).body).toMatchObject({ succeeded: [known.id] });
        const prefix = `${stage.tag}-load-${which}-`;
        const load = startAssetLoad({ setup: stage.setup, senders: 4, prefix });
        await load.written(6);
        await network[which].kill();

        const never = asset(`never-${which}`, 'asset');
        const refused = await push(never);
        expectProblem(refused, 'LEDGER_UNAVAILABLE');
        expect(refused.durationMs).toBeLessThan(answeredWithinMs);
        const other = asset(`other-${which}`, 'other');
        expect((await push(other)).body as SyncSummary).toMatchObject({ succeeded: [other.id], pending: [] });
        expect((await read(known.id)).status).toBe(200);
        expectProblem(await read(`${stage.tag}-absent`), 'NOT_FOUND');
        expect((await stage.setup.peer.ops.send({ path: '/health/ready' })).status).toBe(200);

        await network[which].start();
        await load.written(10);
        const fates = await load.finish();
        await stage.settled();
        await judgeAssets(stage, prefix, fates);
        expectProblem(await read(never.id), 'NOT_FOUND');
        expect(load.attempts.filter(({ answer }) => answer?.status === 503).length).toBeGreaterThan(0);
      },
      storyTimeoutMs,
    );
  });
}
