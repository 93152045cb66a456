import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { until } from '@sealgate/testing';
import { contractSetup, setupTimeoutMs, type ContractSetup } from './harness/contract-setup.ts';
import { freshTag, type FabricNetwork } from './harness/fabric-network.ts';
import { connectionOf, placesOf } from './harness/fabric-stage.ts';
import { outOfReach } from './harness/installation.ts';
import { acceptedTexts, batchOrders, checkReplays, startLoad } from './harness/load.ts';
import { isFull } from './harness/scale.ts';
import { sender } from './harness/sender.ts';

const rounds = 16;
const storyTimeoutMs = 900_000;
const channels = ['main', 'other'];

interface Answered {
  readonly eventId: string;
  readonly records: readonly { readonly id: string; readonly transactionId: string; readonly channel: string }[];
}

/** Two gateways that are killed while the network fails, under senders that retry. Only in a full run. */
export function gatewayChaosStory(networkOf: () => FabricNetwork): void {
  if (!isFull) return;
  const tag = freshTag();
  let folder = '';
  let setup: ContractSetup;

  describe('behind two webhook gateways that are killed repeatedly', () => {
    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), 'sealgate-e2e-fabric-'));
      const fabricConfig = join(folder, 'fabric.json');
      writeFileSync(fabricConfig, JSON.stringify(connectionOf(networkOf(), tag)));
      const env = { LEDGER_DRIVER: 'fabric', FABRIC_CONFIG: fabricConfig, LEDGER_INTEGRATOR: 'false' };
      setup = await contractSetup({ env, gateways: 2 });
      await setup.admin.ask('POST', '/networks', { networkId: tag, channels, limits: outOfReach });
    }, setupTimeoutMs);
    afterAll(async () => {
      await setup?.stop();
      rmSync(folder, { recursive: true, force: true });
    }, setupTimeoutMs);

    it(
      'contains what was answered, each once and nothing else, with matching events',
      async () => {
        const network = networkOf();
        const { rawKey } = await setup.newKey(tag);
        const load = startLoad({
          targets: setup.gateways.map((gateway) => sender(gateway.public, tag, rawKey)),
          senders: 8,
          nextOrder: batchOrders(5, 'chaos', channels),
          replayPercent: 30,
          giveUpAfterMs: 240_000,
        });
        const away = async (strike: () => Promise<void>, heal: () => Promise<void>): Promise<void> => {
          await strike();
          await delay(200 + Math.random() * 2_000);
          await heal();
        };
        const faults = [
          ...setup.gateways.map((gateway) => () => away(gateway.kill, gateway.start)),
          () => away(network.peer.kill, network.peer.start),
          () => away(network.orderer.kill, network.orderer.start),
          () => away(network.orderer.freeze, network.orderer.thaw),
          () => away(network.contract.kill, network.contract.start),
        ];
        for (let round = 0; round < rounds; round += 1) {
          await delay(200 + Math.random() * 1_000);
          await faults[Math.floor(Math.random() * faults.length)]!();
        }
        await load.finish();
        checkReplays(load.attempts);
        const answers = [...new Set(acceptedTexts(load.attempts))].map((text) => JSON.parse(text) as Answered);
        await expectKept(network, answers);
        for (const { eventId, records } of answers) {
          await until(async () => (await setup.admin.ask('GET', `/events/${eventId}`))['status'] === 'committed');
          const event = await setup.admin.ask('GET', `/events/${eventId}`);
          const placeOf = ({ id, channel, transactionId }: Answered['records'][number]): string =>
            `${id} ${channel} ${transactionId}`;
          expect((event['records'] as Answered['records']).map(placeOf).toSorted()).toEqual(
            records.map(placeOf).toSorted(),
          );
        }
        expect(load.attempts.filter(({ answer }) => answer === undefined).length).toBeGreaterThan(0);
      },
      storyTimeoutMs,
    );

    async function expectKept(network: FabricNetwork, answers: readonly Answered[]): Promise<void> {
      const records = answers.flatMap((answer) => answer.records);
      for (const [name, { fabricChannel, prefix }] of Object.entries(placesOf(network, tag))) {
        const expected = records.filter((record) => record.channel === `${tag}.${name}`);
        const kept = await network.reader.list(fabricChannel, prefix);
        for (const { id, transactionId } of expected) {
          expect(kept.get(prefix + id)).toMatchObject({ transactionId, version: 1 });
        }
        // A Fabric channel used by this story only may contain records of earlier runs.
        if (prefix !== '') expect(kept.size).toBe(expected.length);
      }
    }
  });
}
