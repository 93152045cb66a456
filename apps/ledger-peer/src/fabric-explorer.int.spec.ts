import { PassThrough } from 'node:stream';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { adminApp } from '@sealgate/admin-api';
import { ServerSecrets, tokenHashes } from '@sealgate/auth';
import { sha256 } from '@sealgate/json';
import { createLog } from '@sealgate/observability';
import { cursorCodec } from '@sealgate/paging';
import { expectProblem } from '@sealgate/testing';
import request from 'supertest';
import { fabricBlocks } from './data/fabric-blocks.ts';
import { transactionFinder } from './data/fabric-transactions.ts';
import { adminFabricRoutes } from './routes/admin-fabric.ts';
import { asset, freshId } from './testing/fabric-mapping.ts';
import { fabricSuite } from './testing/fabric-suite.ts';

const suite = fabricSuite();
const OPERATOR = 'a'.repeat(32);
const VIEWER = 'a.person.here';

let app: ReturnType<typeof adminApp>;
beforeAll(() => {
  const hasher = ServerSecrets.parse(`s1:${'s'.repeat(32)}`).derive('cursors');
  app = adminApp({
    routes: adminFabricRoutes({
      explorer: {
        blocks: fabricBlocks(suite.client, suite.channels),
        findTransaction: transactionFinder(suite.client, suite.channels),
        ...{ mappings: suite.mappings, now: Date.now },
      },
      cursors: cursorCodec({ hasher, now: Date.now }),
    }),
    tokens: tokenHashes(() => sha256(OPERATOR).toString('hex'), Date.now),
    findPerson: () => Promise.resolve({ actor: 'oidc:https://id.example#eve', roles: ['viewer'] }),
    charge: () =>
      Promise.resolve({ admitted: true, headers: { 'RateLimit-Policy': 'p', RateLimit: 'r' }, retryAfterSeconds: 0 }),
    failedAuthentication: () => Promise.resolve(undefined),
    log: createLog({ service: 'test', level: 'error', stream: new PassThrough().resume(), now: Date.now }),
    metrics: { route: () => ({ observe: () => undefined }) },
    now: Date.now,
    newId: () => 'made-here',
    trustProxy: false,
    tlsTerminatedUpstream: false,
  });
});

const ask = (path: string, token = VIEWER) =>
  request(app).get(`/admin/v1/fabric/${path}`).set('Authorization', `Bearer ${token}`);

async function written(type: string, data = {}) {
  const id = freshId();
  const outcome = await suite.ledger.write(suite.target(type), [asset(id, type, data)]);
  if (outcome.outcome !== 'committed') throw new Error(JSON.stringify(outcome));
  const { transactionId, blockNumber } = outcome.transactions[0]!;
  return { id, transactionId, blockNumber: blockNumber! };
}

describe('the blocks of Fabric on the admin listener', () => {
  it('are listed by channel, newest first, in pages, to viewers too', async () => {
    const { transactionId, blockNumber } = await written('ours.x');
    const { body: channels } = await ask('channels');
    expect(channels).toMatchObject({
      items: [
        { channel: 'acme.kept', fabricChannel: 'shared', chaincodes: ['records'], firstBlock: 0 },
        { channel: 'acme.main', fabricChannel: 'main', newestBlock: blockNumber, firstBlock: 0 },
      ],
      nextCursor: null,
    });
    const numbers: number[] = [];
    let cursor: string | null = null;
    do {
      const more: string = cursor === null ? '' : `&cursor=${cursor}`;
      const { body } = await ask(`channels/acme.main/blocks?limit=2${more}`, OPERATOR);
      numbers.push(...(body as { items: { number: number }[] }).items.map(({ number }) => number));
      cursor = (body as { nextCursor: string | null }).nextCursor;
    } while (cursor !== null);
    expect(numbers).toEqual(Array.from({ length: blockNumber + 1 }, (_, n) => blockNumber - n));
    const { body: below } = await ask(`channels/acme.main/blocks?below=1`);
    expect(below).toMatchObject({ items: [{ number: 0, at: null, transactions: 0, configurations: 1 }] });
    const { body: block } = await ask(`channels/acme.main/blocks/${blockNumber}`);
    expect(block).toMatchObject({
      channel: 'acme.main',
      block: { number: blockNumber, transactions: 1, valid: 1 },
      entries: [{ place: 0, kind: 'contract', transactionId, code: 'VALID', keysWritten: 2 }],
    });
  });

  it('have transactions with who wrote what, and no private data', async () => {
    const { id, transactionId, blockNumber } = await written('ours.x', { is: 'written' });
    const hex = (text: string) => Buffer.from(text).toString('hex');
    const { body } = await ask(`transactions/${transactionId}`);
    expect(body).toEqual({
      ...{ transactionId, channel: 'acme.main', blockNumber, code: 'VALID', chaincode: 'records' },
      ...{ creator: { mspId: 'Org1MSP', subject: 'O=Org1MSP, OU=client, CN=client' }, endorsers: ['Org1MSP'] },
      function: 'createMany',
      at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      writes: [
        { chaincode: 'records', key: `i/${hex(id)}`, isDelete: false },
        {
          ...{ chaincode: 'records', key: `r/${hex('ours.x')}/${hex(id)}`, isDelete: false },
          record: { id, type: 'ours.x' },
        },
      ],
    });
    const kept = await written('kept.x');
    const shared = (await ask(`transactions/${kept.transactionId}`)).body as { writes: object[] };
    expect(shared).toMatchObject({ channel: 'acme.kept', chaincode: 'records' });
    expect(shared.writes).toContainEqual(expect.objectContaining({ record: { id: kept.id, type: 'kept.x' } }));
    const secret = `secret-${id}`;
    const pinned = await suite.ledger.write(suite.target('pin'), [
      { ...asset(freshId(), 'pin'), transient: { pin: secret } },
    ]);
    if (pinned.outcome !== 'committed') throw new Error(JSON.stringify(pinned));
    const [hidden] = pinned.transactions;
    const shown = [
      await ask(`transactions/${hidden!.transactionId}`),
      await ask(`channels/acme.main/blocks/${hidden!.blockNumber}`),
    ];
    expect(shown.map(({ status }) => status)).toEqual([200, 200]);
    expect(JSON.stringify(shown.map((answer) => answer.body as unknown))).not.toContain(secret);
  });

  it('are missing where no mapping leads, no block is, or no transaction', async () => {
    for (const path of [
      ...['channels/acme.other/blocks', 'channels/acme.other/blocks/0', 'channels/acme.main/blocks/99999'],
      ...['channels/acme.main/blocks/one', `transactions/${'0'.repeat(64)}`, 'transactions/none'],
    ])
      expectProblem(await ask(path), 'NOT_FOUND');
    expectProblem(await ask('channels/acme.main/blocks?limit=0'), 'INVALID_LIMIT');
    expectProblem(await ask('channels/acme.main/blocks?cursor=abc'), 'INVALID_CURSOR');
  });

  it('are unavailable while no peer answers; their channels are listed', async () => {
    await suite.peer.stop();
    try {
      expectProblem(await ask('channels/acme.main/blocks'), 'LEDGER_UNAVAILABLE');
      expect((await ask('channels')).body).toMatchObject({
        items: [
          { newestBlock: null, firstBlock: null },
          { channel: 'acme.main', newestBlock: null },
        ],
      });
    } finally {
      await suite.peer.start();
    }
  }, 30_000);
});
