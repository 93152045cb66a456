import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { until } from '@sealgate/testing';
import { connectClient, type ConnectedClient, type PeerAddress } from '@sealgate/testing/fabric';
import { describeRecordedCases, type FabricTarget } from '@sealgate/testing/fabric/fixtures';
import type { Contract, GatewayError } from '@hyperledger/fabric-gateway';
import { messageOf } from './devnet-error.ts';
import { down, findFabricCommands, openFaults, up, type NetworkFaults, type OrganizationName } from './index.ts';

// Not in Docker: a test run must not pull images.
const missing = await findFabricCommands({ env: process.env, hasDocker: async () => false }).then(
  () => undefined,
  (error: unknown) => messageOf(error),
);
if (missing !== undefined)
  process.stderr.write(`SKIPPED: the recorded Fabric behaviour on a real network. ${missing}\n`);

const folder = join(tmpdir(), `sealgate-observed-${randomUUID()}`);
const data = join(folder, 'net');
// Long enough for a test to act on a transaction that is acknowledged and not yet in a block.
const batchTimeoutMs = 2_000;
// TxValidationCode of fabric-protos.
const VALID = 0;
const DUPLICATE_TXID = 9;
const ENDORSEMENT_POLICY_FAILURE = 10;

(missing === undefined ? describe : describe.skip)('a real network', () => {
  let faults: NetworkFaults;
  let north: PeerAddress;
  let south: PeerAddress;
  let target: FabricTarget;

  beforeAll(async () => {
    await up({
      data,
      // Below the ephemeral port range, and away from the network of network.int.spec.ts.
      portBase: 12_000 + (process.pid % 80) * 100,
      batchTimeoutMs,
      env: process.env,
      now: Date.now,
      tell: () => undefined,
    });
    faults = await openFaults({ data, env: process.env });
    north = addressOf(faults, 'north');
    south = addressOf(faults, 'south');
    target = targetOf(faults, north);
  }, 120_000);
  afterAll(async () => {
    await down({ data, env: process.env });
    rmSync(folder, { recursive: true, force: true });
  });

  describeRecordedCases('the network', () => target);

  describe('beyond the recorded cases', () => {
    const clients: ConnectedClient[] = [];
    afterEach(async () => {
      for (const client of clients.splice(0)) client.close();
      await faults.mend();
    }, 90_000);
    const clientOf = (address: PeerAddress): ConnectedClient => {
      const client = connectClient(address);
      clients.push(client);
      return client;
    };
    const contractOn = (channel: 'both' | 'either', address = north): Contract =>
      clientOf(address).gateway.getNetwork(channel).getContract('records');

    it('loses acknowledged envelopes if the orderer dies before the block; resending the same envelope commits', async () => {
      const transaction = await contractOn('either')
        .newProposal('createMany', { arguments: [newRecord()] })
        .endorse();
      const commit = await transaction.submit();
      await faults.kill('orderer');
      await faults.start('orderer');
      await faults.mend(); // Another transaction commits after it.
      const unknown = await commit.getStatus({ deadline: Date.now() + 1_000 }).catch((error: GatewayError) => error);
      // The client's deadline; or, if the peer notices it first, that it cancelled the call.
      expect([{ code: 4 }, { code: 1 }]).toContainEqual({ code: unknown.code });
      const again = await transaction.submit();
      await expect(again.getStatus()).resolves.toMatchObject({ code: VALID });
    }, 90_000);

    it('reports each further copy of an envelope as a duplicate under the same id', async () => {
      const { gateway } = clientOf(north);
      const network = gateway.getNetwork('either');
      const blocks = await network.getFilteredBlockEvents();
      const seen: [string, number][] = [];
      const reading = (async () => {
        for await (const block of blocks)
          for (const row of block.getFilteredTransactionsList()) seen.push([row.getTxid(), row.getTxValidationCode()]);
      })();
      const transaction = await network
        .getContract('records')
        .newProposal('createMany', { arguments: [newRecord()] })
        .endorse();
      const copies = [
        transaction,
        gateway.newTransaction(transaction.getBytes()),
        gateway.newTransaction(transaction.getBytes()),
      ];
      await Promise.all(copies.map((copy) => copy.submit()));
      const codes = (): number[] => seen.flatMap(([id, code]) => (id === transaction.getTransactionId() ? [code] : []));
      await until(async () => codes().length === 3, { timeoutMs: 20_000 });
      await transaction.submit();
      await until(async () => codes().length === 4, { timeoutMs: 20_000 });
      expect(codes()).toEqual([VALID, DUPLICATE_TXID, DUPLICATE_TXID, DUPLICATE_TXID]);
      await expect((await transaction.submit()).getStatus()).resolves.toMatchObject({ code: VALID });
      blocks.close();
      await reading.catch(() => undefined);
    }, 90_000);

    it("evaluates on the other organisation's peer while its own contract is down, and submits only if configured to", async () => {
      const contract = contractOn('either');
      await faults.kill('records-north');
      await expect(contract.evaluateTransaction('read', 'absent')).resolves.toHaveLength(0);
      await expect(contract.submitTransaction('createMany', newRecord())).rejects.toMatchObject({ code: 10 });
      const elsewhere = { arguments: [newRecord()], endorsingOrganizations: ['SouthMSP'] };
      await expect(contract.submit('createMany', elsewhere)).resolves.toBeDefined();
    }, 90_000);

    it('returns code 9 both for a missing contract and for an unreachable organisation', async () => {
      const contract = contractOn('both');
      await faults.kill('peer-south');
      const refusal = (): Promise<GatewayError> =>
        contract.submitTransaction('createMany', newRecord()).then(
          () => Promise.reject(new Error('It committed.')),
          (error: GatewayError) => error,
        );
      // At first the peer is only unreachable; later gossip has expired it.
      expect([9, 10]).toContain((await refusal()).code);
      await until(async () => (await refusal()).code === 9, { timeoutMs: 30_000 });
      expect((await refusal()).message).toContain('no peer combination can satisfy the endorsement policy');
      const absent = clientOf(north).gateway.getNetwork('both').getContract('nobody');
      await expect(absent.submitTransaction('createMany', newRecord())).rejects.toMatchObject({
        code: 9,
        message: expect.stringContaining('No metadata was found for chaincode nobody in channel both'),
      });
    }, 90_000);

    it('orders a transaction endorsed by one organisation, and then invalidates it', async () => {
      const options = { arguments: [newRecord()], endorsingOrganizations: ['NorthMSP'] };
      const commit = await contractOn('both').submitAsync('createMany', options);
      await expect(commit.getStatus()).resolves.toMatchObject({ code: ENDORSEMENT_POLICY_FAILURE, successful: false });
    });

    it('accepts an envelope through either peer, but only with its creator’s signature', async () => {
      const transaction = await contractOn('either')
        .newProposal('createMany', { arguments: [newRecord()] })
        .endorse();
      const stranger = clientOf(south).gateway.newTransaction(transaction.getBytes());
      await expect(stranger.submit()).rejects.toMatchObject({
        code: 10,
        message: expect.stringContaining('FORBIDDEN'),
      });
      const creator = clientOf({ ...south, identity: north.identity }).gateway.newTransaction(transaction.getBytes());
      await expect((await creator.submit()).getStatus()).resolves.toMatchObject({ code: VALID });
    });

    it('rejects endorsement of a committed proposal', async () => {
      const { gateway } = clientOf(north);
      const proposal = gateway
        .getNetwork('either')
        .getContract('records')
        .newProposal('createMany', { arguments: [newRecord()] });
      await (await (await proposal.endorse()).submit()).getStatus();
      await expect(gateway.newProposal(proposal.getBytes()).endorse()).rejects.toMatchObject({
        code: 10,
        details: [expect.objectContaining({ message: expect.stringMatching(/^duplicate transaction found \[/) })],
      });
    });
  });
});

function addressOf({ plan }: NetworkFaults, organization: OrganizationName): PeerAddress {
  const { peer, user, mspId, domain } = plan.organizations.find(({ name }) => name === organization)!;
  const identity = { mspId, certFile: user.certFile, keyFile: user.keyFile };
  return { url: `127.0.0.1:${peer.port}`, tlsCaFile: peer.tls.caFile, identity, tlsName: `peer.${domain}` };
}

let lastRecord = 0;

function newRecord(): string {
  lastRecord += 1;
  return JSON.stringify([{ id: `observed-${lastRecord}`, type: 'observed', owner: null, data: '{}', extra: null }]);
}

/** The network as the recorded cases expect it: on `either`, where one organisation suffices. */
function targetOf(faults: NetworkFaults, member: PeerAddress): FabricTarget {
  const wrongKeyFile = join(folder, 'wrong-key.pem');
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  writeFileSync(wrongKeyFile, privateKey.export({ type: 'pkcs8', format: 'pem' }));
  const contracts = ['records-north', 'records-south'] as const;
  const each = async (work: (role: (typeof contracts)[number]) => Promise<void>): Promise<void> => {
    await Promise.all(contracts.map(work));
  };
  return {
    channel: 'either',
    chaincode: 'records',
    member,
    stranger: { ...member, identity: { ...member.identity, mspId: 'StrangerMSP' } },
    wrongKey: { ...member, identity: { ...member.identity, keyFile: wrongKeyFile } },
    absoluteMaxBytes: 10 * 1024 * 1024,
    concurrencyLimit: 500,
    controls: {
      stopPeer: () => faults.kill('peer-north'),
      startPeer: () => faults.start('peer-north'),
      // Of both organisations: while one is left, the gateway asks that one.
      killChaincode: () => each((role) => faults.kill(role)),
      startChaincode: () => each((role) => faults.start(role)),
      freezeChaincode: () => each((role) => faults.freeze(role)),
      thawChaincode: () => each((role) => faults.thaw(role)),
      stopOrderer: () => faults.kill('orderer'),
      startOrderer: () => faults.start('orderer'),
      // Blocks are cut rarely here, so that concurrent submissions share one; the previous block must be cut first.
      holdBlocks: () => delay(batchTimeoutMs),
      releaseBlocks: async () => undefined,
    },
  };
}
