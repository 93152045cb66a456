import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { down, freePortBase, openFaults, up, type NetworkFaults } from '@sealgate/fabric-devnet';
import { expectProblem, until } from '@sealgate/testing';
import { migratedPostgres, programOf } from './harness/bundle.ts';
import { setupTimeoutMs } from './harness/contract-setup.ts';
import { freshTag } from './harness/fabric-network.ts';
import { prepareGateway } from './harness/gateway-process.ts';
import { keyHash, newKey, peerEnv, peerSetup, type PeerSetup } from './harness/peer-setup.ts';
import { given } from './harness/surface-setup.ts';
import { verify } from './harness/verifier.ts';

/** Set by `npm run test:fabric`; the network of these stories is another, of their own. */
const isReal = process.env['SEALGATE_FABRIC'] !== undefined;
const storyTimeoutMs = 180_000;

const records = { channel: 'acme.main', chaincode: 'records' };
const mappings = [
  { type: 'any', ...records },
  { type: 'south', ...records, endorsers: ['NorthMSP', 'SouthMSP'] },
  { type: 'east', ...records, endorsers: ['NorthMSP', 'EastMSP'] },
  { type: 'alone', ...records, endorsers: ['NorthMSP'] },
];

/** Peers require client certificates, and two of three organisations must endorse. */
describe('A real network of three organisations with mutual TLS', () => {
  if (!isReal) {
    it.skip('is started by `npm run test:fabric`', () => undefined);
    return;
  }
  const folder = mkdtempSync(join(tmpdir(), 'sealgate-e2e-three-'));
  const data = join(folder, 'network');
  const connection = join(data, 'connection.north.json');
  const tag = freshTag();
  let faults: NetworkFaults;
  let setup: PeerSetup;

  const env = {
    LEDGER_DRIVER: 'fabric',
    FABRIC_CONFIG: connection,
    LEDGER_INTEGRATOR: undefined,
    LEDGER_SIGNING_KEY: undefined,
  };
  beforeAll(async () => {
    const network = { data, portBase: await freePortBase(), organizations: 3, mutualTls: true };
    await up({ ...network, env: process.env, now: Date.now, tell: () => undefined });
    faults = await openFaults({ data, env: process.env });
    writeFileSync(join(folder, 'mapping.json'), JSON.stringify({ mappings }));
    setup = await peerSetup({ env: { ...env, MAPPING_FILE: join(folder, 'mapping.json') } });
  }, 2 * setupTimeoutMs);
  afterEach(() => faults?.mend(), setupTimeoutMs);
  afterAll(async () => {
    await setup?.stop();
    await down({ data, env: process.env });
    rmSync(folder, { recursive: true, force: true });
  }, setupTimeoutMs);

  /** Why a process with this connection file, which never becomes ready, reaches no contract. */
  async function reasonsWith(fabricConfig: string): Promise<string[]> {
    const own = mkdtempSync(join(folder, 'bare-'));
    const database = await migratedPostgres('ledger-peer');
    const gateway = await prepareGateway({
      program: programOf('ledger-peer', 'main'),
      env: given({
        ...peerEnv(own, database.url),
        API_KEY_HASHES: keyHash(newKey()),
        ...env,
        FABRIC_CONFIG: fabricConfig,
      }),
      logFile: join(own, 'log'),
    });
    void gateway.start().catch(() => undefined);
    let contracts: { reason: string }[] = [];
    try {
      await until(
        async () => {
          const { body } = await gateway.ops.send({ path: '/health/ready' });
          contracts = (body as { contracts?: { reason: string }[] } | undefined)?.contracts ?? [];
          return contracts.length > 0;
        },
        { timeoutMs: 60_000, what: 'a report of contracts' },
      );
    } finally {
      await gateway.kill();
      gateway.release();
      await database.stop();
    }
    return contracts.map(({ reason }) => reason);
  }

  const push = (type: string, name: string) =>
    setup.ask('POST', '/api/assets', {
      body: { assets: [{ id: `${tag}-${name}`, type, data: {} }] },
      timeoutMs: 40_000,
    });
  const written = async (type: string, name: string) =>
    expect((await push(type, name)).body).toMatchObject({ succeeded: [`${tag}-${name}`], failed: [], pending: [] });
  const endorsersOf = async (answer: Promise<{ readonly body: unknown }>) => {
    const { transactionIds } = (await answer).body as { transactionIds: string[] };
    return ((await setup.ask('GET', `/api/transactions/${transactionIds[0]}`)).body as { endorsers: string[] })
      .endorsers;
  };
  const proofOf = (name: string, type: string) =>
    setup.ask('GET', `/api/assets/${tag}-${name}?type=${type}&proof=true`);

  it(
    'is written, read and listened to with a client certificate, and not without',
    async () => {
      const heard = new AbortController();
      const events = await fetch(`${setup.peer.public.origin}/api/events?channel=acme.main`, {
        headers: { 'X-Api-Key': setup.key },
        signal: heard.signal,
      });
      expect(events.status).toBe(200);
      await written('any', 'a');
      expect((await setup.ask('GET', `/api/assets/${tag}-a?type=any`)).status).toBe(200);
      let text = '';
      for await (const part of events.body!) {
        text += Buffer.from(part).toString();
        if (text.includes(`${tag}-a`)) break;
      }
      heard.abort();
      expect(text).toContain('event: commit');

      const bare = JSON.parse(readFileSync(connection, 'utf8')) as { peers: Record<string, unknown>[] };
      for (const peer of bare.peers) {
        delete peer['tlsCertFile'];
        delete peer['tlsKeyFile'];
      }
      writeFileSync(join(folder, 'bare.json'), JSON.stringify(bare));
      const reasons = await reasonsWith(join(folder, 'bare.json'));
      expect(reasons.length).toBeGreaterThan(0);
      expect(new Set(reasons)).toEqual(new Set(['tls_client_certificate_required']));
    },
    storyTimeoutMs,
  );

  it(
    'endorses by the organisations that a mapping names, or by any two',
    async () => {
      expect(await endorsersOf(push('south', 's'))).toEqual(expect.arrayContaining(['NorthMSP', 'SouthMSP']));
      const ofEast = await endorsersOf(push('east', 'e'));
      expect(ofEast.toSorted()).toEqual(['EastMSP', 'NorthMSP']);
      expect(await endorsersOf(push('any', 'o'))).toHaveLength(2);
      // One is too few for the policy: the channel keeps the transaction as invalid, for good.
      expect((await push('alone', 'n')).body).toMatchObject({
        succeeded: [],
        failed: [{ code: 'LEDGER_UNAVAILABLE', retryable: false }],
      });
    },
    storyTimeoutMs,
  );

  it(
    'serves what two can endorse while the third is stopped, and tells whose peer is missing',
    async () => {
      await written('east', 'e1');
      const trust = await setup.admin.get('/fabric/trust?channel=acme.main');
      writeFileSync(join(folder, 'channel.json'), trust.text);
      await faults.stop('peer-east');
      await written('south', 's1');
      await written('any', 'o1');
      expectProblem(await push('east', 'e2'), 'LEDGER_UNAVAILABLE');
      expect(setup.peer.logText()).toMatch(/"endorsers_away"[^\n]*EastMSP/);
      expectProblem(await proofOf('e1', 'east'), 'LEDGER_UNAVAILABLE');
      writeFileSync(join(folder, 'proof.json'), (await proofOf('s1', 'south')).text);
      expect(await verify(folder, 'fabric', 'proof.json', '--trust', 'channel.json')).toMatchObject({
        exitCode: 0,
        text: expect.stringContaining(`signed that record acme.main/${tag}-s1`),
      });

      await faults.stop('peer-south');
      expectProblem(await push('any', 'o2'), 'LEDGER_UNAVAILABLE');
      expect((await setup.ask('GET', `/api/assets/${tag}-e1?type=east`)).status).toBe(200);

      await faults.mend();
      await until(async () => (await push('east', 'e3')).status === 200, {
        timeoutMs: 60_000,
        what: 'a write by East',
      });
      expect((await proofOf('e1', 'east')).status).toBe(200);
    },
    storyTimeoutMs,
  );
});
