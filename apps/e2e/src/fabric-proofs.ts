import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { expectProblem, until, type ThrowawayPostgres } from '@sealgate/testing';
import { migratedPostgres } from './harness/bundle.ts';
import { contractSetup, setupTimeoutMs, type ContractSetup } from './harness/contract-setup.ts';
import { freshTag, type FabricNetwork } from './harness/fabric-network.ts';
import { approvedSubject, askGate, gateSetup, type GateSetup } from './harness/gate-setup.ts';
import { peerSetup, type PeerSetup } from './harness/peer-setup.ts';
import { askRisk, riskSetup, type RiskSetup } from './harness/risk-setup.ts';
import { sender } from './harness/sender.ts';
import { verify } from './harness/verifier.ts';

const storyTimeoutMs = 120_000;
const run = promisify(execFile);
const sealgate = resolve(import.meta.dirname, '../../../tools/admin/bin/sealgate.mjs');

/** What outsiders check with the trust file of the channel, of every surface that writes to it. */
export function proofStories(open: () => Promise<FabricNetwork>): void {
  describe('Proofs of records on Fabric', () => {
    let network: FabricNetwork;
    let peer: PeerSetup;
    let ingest: ContractSetup;
    let risk: RiskSetup;
    let gate: GateSetup;
    const databases: ThrowawayPostgres[] = [];
    const folder = mkdtempSync(join(tmpdir(), 'sealgate-e2e-proofs-'));

    beforeAll(async () => {
      network = await open();
      const fabricConfig = join(folder, 'fabric.json');
      const channels = [{ name: network.mainChannel, holds: ['*'] }];
      writeFileSync(fabricConfig, JSON.stringify({ ...network.connection, channels }));
      const env = { LEDGER_DRIVER: 'fabric', FABRIC_CONFIG: fabricConfig };
      const alone = { ...env, LEDGER_INTEGRATOR: 'false', LEDGER_SIGNING_KEY: undefined };
      databases.push(await migratedPostgres('risk-partner'), await migratedPostgres('case-gate'));
      peer = await peerSetup({ env: alone });
      ingest = await contractSetup({ env: alone });
      risk = await riskSetup(databases[0]!, alone);
      gate = await gateSetup({ postgres: databases[1]!, env });
      await run(process.execPath, [sealgate, 'fabric', 'trust', 'acme.main', '--out', join(folder, 'channel.json')], {
        env: {
          PATH: process.env['PATH'],
          SEALGATE_ADMIN_URL: peer.peer.admin.origin,
          SEALGATE_ADMIN_TOKEN: peer.adminToken,
        },
      });
    }, setupTimeoutMs);
    afterAll(async () => {
      await Promise.all([peer?.stop(), ingest?.stop(), risk?.stop(), gate?.stop()]);
      await Promise.all(databases.map((database) => database.stop()));
      await network?.close();
      rmSync(folder, { recursive: true, force: true });
    }, setupTimeoutMs);

    const keep = (name: string, text: string): void => writeFileSync(join(folder, name), text);
    const judged = async (...line: string[]): Promise<[number, string]> => {
      const { exitCode, text } = await verify(folder, ...line);
      const { conclusion, error } = JSON.parse(text) as { conclusion?: string; error?: string };
      return [exitCode, conclusion ?? error ?? text];
    };
    const trusted = ['--trust', 'channel.json'];
    /** One letter of a saved file replaced, where it says this. */
    const forged = (name: string, from: string, to: string): string => {
      const text = readFileSync(join(folder, name), 'utf8');
      expect(text).toContain(from);
      keep(`forged-${name}`, text.replace(from, to));
      return `forged-${name}`;
    };
    /** While no peer endorses. */
    async function whileAway<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
      await network.peer.kill();
      return ask().finally(() => network.mend());
    }

    it(
      'are verified of an asset of the ledger peer',
      async () => {
        const id = `${freshTag()}-a1`;
        const assets = [{ id, type: 'asset', data: { n: 1 } }];
        expect((await peer.ask('POST', '/api/assets', { body: { assets } })).status).toBe(200);
        keep('asset.json', (await peer.ask('GET', `/api/assets/${id}?proof=true`)).text);
        for (const command of ['fabric', 'receipt'])
          expect(await judged(command, 'asset.json', ...trusted)).toEqual([
            0,
            expect.stringContaining(
              `signed that record acme.main/${id} (version 1) is in the channel ${network.mainChannel}, valid`,
            ),
          ]);
      },
      storyTimeoutMs,
    );

    it(
      'are verified of a record of the gateway, by its admin listener, with the content as read and as sent',
      async () => {
        const networkId = await ingest.newNetwork();
        const { rawKey } = await ingest.newKey(networkId);
        const sent = { id: 'order-7', type: 'order', owner: 'me', data: { total: 12 }, note: 'x' };
        const { status } = await sender(ingest.gateway.public, networkId, rawKey).post(sent);
        expect(status).toBe(200);
        const path = `/ledger/channels/${networkId}.main/records/order-7`;
        const [record, proof] = [await ingest.admin.get(path), await ingest.admin.get(`${path}/proof`)];
        expect(record.body).toMatchObject({ id: 'order-7', owner: 'me', extra: { note: 'x' } });
        keep('record.json', proof.text);
        keep('whole.json', JSON.stringify({ ...(proof.body as object), record: record.body }));
        keep('sent.json', '{"total":12}');
        keep('other.json', '{"total":13}');
        expect(await judged('receipt', 'record.json', ...trusted, '--data', 'sent.json')).toEqual([
          0,
          expect.any(String),
        ]);
        expect(await judged('receipt', 'whole.json', ...trusted)).toEqual([0, expect.any(String)]);
        expect(await judged('receipt', 'record.json', ...trusted, '--data', 'other.json')).toEqual([
          1,
          'Failed: content.',
        ]);
        const eve = forged('whole.json', '"owner":"me"', '"owner":"eve"');
        expect(await judged('receipt', eve, ...trusted)).toEqual([1, 'Failed: receipt.']);
        expect(await judged('receipt', 'record.json')).toEqual([2, expect.stringContaining('--trust')]);
        expectProblem(await ingest.admin.get(`/ledger/channels/${networkId}.main/records/none/proof`), 'NOT_FOUND');
        expectProblem(await whileAway(() => ingest.admin.get(`${path}/proof`)), 'LEDGER_UNAVAILABLE');
        expectProblem(await ingest.admin.get('/ledger/channels'), 'NOT_FOUND');
      },
      storyTimeoutMs,
    );

    it(
      'are verified of evidence, for those who read it and in the partner API',
      async () => {
        const [owner, reviewer] = [await risk.newPerson(['owner']), await risk.newPerson(['risk_manager'])];
        const partner = await risk.newPerson(['partner_read'], { kind: 'machine' });
        const one = risk.processes[0]!;
        const sha256 = 'ab'.repeat(32);
        const body = { title: 'Report', kind: 'document', sha256 };
        const made = await askRisk(one, owner.key, ['POST', '/api/evidence'], { body });
        const path = `/api/evidence/${String(made.body['id'])}`;
        for (const [key, to] of [
          [owner.key, 'in_review'],
          [reviewer.key, 'approved'],
        ] as const)
          expect((await askRisk(one, key, ['POST', `${path}/transitions`], { body: { to } })).status).toBe(200);
        const proofs = () => askRisk(one, partner.key, ['GET', '/api/v1/proofs']);
        await until(async () => ((await proofs()).body['items'] as unknown[]).length === 1, { timeoutMs: 20_000 });
        const proof = await askRisk(one, owner.key, ['GET', `${path}/proof`]);
        keep('evidence.json', proof.text);
        expect(await judged('receipt', 'evidence.json', ...trusted)).toEqual([0, expect.any(String)]);
        const other = forged('evidence.json', `"sha256":"${sha256}"`, `"sha256":"${'cd'.repeat(32)}"`);
        expect(await judged('receipt', other, ...trusted)).toEqual([1, 'Failed: content.']);
        const listed = await proofs();
        expect(listed.body['items']).toEqual([
          expect.objectContaining({ sha256, index: null, checkpoint: null, receipt: proof.body['receipt'] }),
        ]);
        keep('proofs.json', listed.text);
        keep('partner.jwks.json', (await askRisk(one, partner.key, ['GET', '/.well-known/jwks.json'])).text);
        const signature = ['--signature', String(listed.headers['evidence-signature']), '--jwks', 'partner.jwks.json'];
        expect(await judged('envelope', 'proofs.json', ...signature, ...trusted)).toEqual([
          0,
          expect.stringContaining('Peers signed for its 1 proof(s) of Fabric.'),
        ]);
        // The proof is made once: it needs no peer, and stays the same.
        expect((await whileAway(() => askRisk(one, owner.key, ['GET', `${path}/proof`]))).text).toBe(proof.text);
      },
      storyTimeoutMs,
    );

    it(
      'are verified of the seal in a pack',
      async () => {
        const { caseId } = await approvedSubject(gate);
        const pack = () => askGate(gate, ['GET', `/v1/cases/${caseId}/assessor-pack`]);
        const first = await pack();
        expect(first.status).toBe(200);
        keep('pack.json', first.text);
        keep('packs.jwks.json', (await askGate(gate, ['GET', '/.well-known/jwks.json'])).text);
        const line = ['--jwks', 'packs.jwks.json', ...trusted];
        expect(await judged('pack', 'pack.json', ...line)).toEqual([
          0,
          expect.stringContaining(
            `Its 1 seal(s) are in the Fabric channel ${network.mainChannel}, valid, as peers signed.`,
          ),
        ]);
        const decline = forged('pack.json', '"decision":"approve"', '"decision":"decline"');
        expect(await judged('pack', decline, ...line)).toEqual([1, expect.stringContaining('pack signature')]);
        expect(await judged('pack', 'pack.json', '--jwks', 'packs.jwks.json')).toEqual([
          2,
          expect.stringContaining('give the trust file of that channel with --trust'),
        ]);
        // Stored with the seal: the same later, and without a peer.
        expect((await whileAway(pack)).body['pack_hash']).toBe(first.body['pack_hash']);
      },
      storyTimeoutMs,
    );
  });
}
