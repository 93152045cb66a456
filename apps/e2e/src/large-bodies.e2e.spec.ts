import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { expectProblem, until } from '@sealgate/testing';
import { membersOf } from './harness/admin-client.ts';
import { expectWritten } from './harness/answers.ts';
import { contractSetup, setupTimeoutMs, type ContractSetup } from './harness/contract-setup.ts';
import { inParallel } from './harness/in-parallel.ts';
import { sender, type Sender } from './harness/sender.ts';

/** Dozens of mebibytes take long on a shared machine. */
const floodTimeoutMs = 60_000;

/** White space around a body changes where it is read, but not its content. */
const padded = (body: string): string => body + ' '.repeat(200_000);

/** A mebibyte that is expensive for its size: a list of small objects, each with its own shape. */
function manyShapes(bytes: number): string {
  const parts: string[] = [];
  for (let length = 2; ;) {
    const part = `{"k${parts.length}":${parts.length}}`;
    length += part.length + 1;
    if (length > bytes) return `[${parts.join(',')}]`;
    parts.push(part);
  }
}

describe('Large bodies', () => {
  let setup: ContractSetup;
  let networkId: string;
  let from: Sender;
  const newSender = async (grants?: Readonly<Record<string, unknown>>): Promise<Sender> => {
    const { rawKey } = await setup.newKey(networkId, grants);
    return sender(setup.gateway.public, networkId, rawKey);
  };
  beforeAll(async () => {
    setup = await contractSetup();
  }, setupTimeoutMs);
  beforeEach(async () => {
    networkId = await setup.newNetwork();
    from = await newSender();
  });
  afterAll(() => setup.stop());

  it.each([
    ['INVALID_JSON', '{"a":'],
    ['INVALID_JSON', '{"a":["\\udc00"]}'],
    ['DUPLICATE_MEMBER', '{"id":7,"id":8}'],
    ['UNSAFE_NUMBER', '{"id":7,"n":[1e400]}'],
    ['JSON_TOO_DEEP', '['.repeat(65) + ']'.repeat(65)],
    ['INVALID_REQUEST', '{"assets":[{"id":1,"type":""},{"data":[]}],"b":1}'],
    ['BATCH_TOO_LARGE', JSON.stringify({ assets: Array.from({ length: 101 }, () => 7) })],
    ['UNKNOWN_CHANNEL', '{"targetChannels":["nowhere"]}'],
  ])('are refused exactly as small ones are: %s for %s', async (code, body) => {
    const headers = { 'X-Request-Id': 'the-same' };
    const [small, large] = [await from.post(body, { headers }), await from.post(padded(body), { headers })];
    expectProblem(large, code);
    // Syntax errors are located by line and column, which are the same in both.
    if (body !== '{"a":') expect(large.text).toBe(small.text);
  });

  it('are refused in the same order: JSON, shape, permission, types, channels, Idempotency-Key', async () => {
    const faults = ['"twice":1,"twice":2', '"owner":7', '"type":"other"', '"targetChannels":["nowhere"]'];
    const bodyOf = (first: number): string => padded(`{${faults.slice(first).join(',')}}`);
    const how = { idempotencyKey: 'not one' };
    const pinger = await newSender({ permissions: ['ingest:ping'], allowedAssetTypes: ['one'] });
    const writer = await newSender({ allowedAssetTypes: ['one'] });
    expectProblem(await pinger.post(bodyOf(0), how), 'PAYLOAD_TOO_LARGE');
    expectProblem(await writer.post(bodyOf(0), how), 'DUPLICATE_MEMBER');
    expectProblem(await writer.post(bodyOf(1), how), 'INVALID_REQUEST');
    expectProblem(await writer.post(bodyOf(2), how), 'ASSET_TYPE_NOT_ALLOWED');
    expectProblem(await from.post(bodyOf(3), how), 'UNKNOWN_CHANNEL');
    expectProblem(await from.post(padded('{}'), how), 'INVALID_IDEMPOTENCY_KEY');
  });

  it('of a key that may only ping are limited to 4,096 bytes, compressed or not, and are refused unread', async () => {
    const pinger = await newSender({ permissions: ['ingest:ping'] });
    const ping = (bytes: number): string => '{"type":"ping"}'.padEnd(bytes, ' ');
    expect((await pinger.post(ping(4096))).status).toBe(200);
    expectProblem(await pinger.post(ping(4097)), 'PAYLOAD_TOO_LARGE');
    const headers = { 'Content-Encoding': 'gzip' };
    expectProblem(await pinger.post(gzipSync(ping(4097)), { headers }), 'PAYLOAD_TOO_LARGE');
    expectProblem(await pinger.post('{"broken"'.padEnd(4097)), 'PAYLOAD_TOO_LARGE');
    expectProblem(await pinger.post('{"id":1}'), 'INVALID_REQUEST');
    expectProblem(await pinger.post('{"id":"1"}'), 'FORBIDDEN');
    expect((await (await newSender({ permissions: ['ingest:write'] })).post(padded('{}'))).status).toBe(200);
  });

  it('are written as small ones are: the same content is the same record', async () => {
    const body = JSON.stringify({
      assets: [
        {
          id: 'one',
          type: 't',
          owner: 'o',
          data: { b: [1.5, 'ü€😀'], a: { CVV: 1, x: null } },
          ssn: 1,
          rest: { z: 1, y: 2 },
        },
        { id: 'two', n: 1 },
      ],
    });
    const small = expectWritten(await from.post(body));
    const large = expectWritten(await from.post(padded(body)));
    expect(large.strippedFields).toBe(2);
    expect(large.records).toEqual(small.records.map((record) => ({ ...record, existing: true })));
    const row = await setup.admin.ask('GET', `/ledger/channels/${networkId}.main/records/one`);
    expect(row).toMatchObject({
      data: { b: [1.5, 'ü€😀'], a: { x: null } },
      extra: { rest: { z: 1, y: 2 } },
      owner: 'o',
    });
  });

  it('may be pings, bare JSON and whole records too', async () => {
    expect(membersOf((await from.post(padded('{"type":"ping"}'))).body)).toMatchObject({ ping: true });
    const bare = expectWritten(await from.post(padded('[1,[2]]'))).records[0]!;
    const { data } = await setup.admin.ask('GET', `/ledger/channels/${networkId}.main/records/${bare.id}`);
    expect(data).toEqual({ value: [1, [2]] });
    const hooks = await newSender({ record: 'whole', defaultType: 'hook' });
    const whole = expectWritten(await hooks.post(padded('{"id":7,"data":"text"}'))).records[0]!;
    const row = await setup.admin.ask('GET', `/ledger/channels/${networkId}.main/records/${whole.id}`);
    expect(row).toMatchObject({ type: 'hook', data: { id: 7, data: 'text' } });
  });

  it('get the same answer again under their Idempotency-Key, compressed or not; other bodies do not', async () => {
    const how = { idempotencyKey: 'large' };
    const body = manyShapes(1_000_000);
    const first = await from.post(body, how);
    expectWritten(first);
    const again = await from.post(gzipSync(body), { ...how, headers: { 'Content-Encoding': 'gzip' } });
    expect(again.text).toBe(first.text);
    expect(again.headers['idempotent-replayed']).toBe('true');
    expectProblem(await from.post(`${body} `, how), 'IDEMPOTENCY_KEY_REUSED');
  });

  it(
    'do not block others: small requests are answered while they are read',
    async () => {
      const large = manyShapes(1_040_000);
      let read = 0;
      const reading = inParallel(12, 12, async () => {
        const answer = await from.post(large);
        // On slow cores some may wait for longer than a deadline.
        if (answer.status === 503) return;
        expectWritten(answer);
        read += 1;
      });
      await until(() => read > 0, { what: 'a large body that was read' });
      const small = await newSender();
      for (let count = 0; count < 5; count += 1) expectWritten(await small.post({ count }));
      expect(read).toBeLessThan(12);
      await reading;
    },
    floodTimeoutMs,
  );

  it(
    'are each answered, however many arrive concurrently: written, or refused because the queue is full',
    async () => {
      const large = Buffer.from(manyShapes(1_040_000));
      const answers = await inParallel(40, 40, () => from.post(large));
      for (const answer of answers) {
        if (answer.status === 200) expectWritten(answer);
        else expectProblem(answer, 'OVERLOADED');
      }
      expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThan(0);
      expectWritten(await from.post(padded('{}')));
      expect(setup.gateway.logText()).not.toMatch(/reading_thread_lost/);
    },
    floodTimeoutMs,
  );

  it(
    'that were received are answered although the gateway is told to stop, and it accepts more after a restart',
    async () => {
      const large = manyShapes(1_040_000);
      const answers = inParallel(4, 4, () => from.post(large));
      const waiting = async (): Promise<number> => {
        const { text } = await setup.gateway.ops.send({ path: '/metrics' });
        return Number(/^ingest_waiting_bodies\S* (\d+)$/m.exec(text)?.[1]);
      };
      await until(async () => (await waiting()) === 4, { what: 'four large bodies that wait' });
      expect(await setup.gateway.stop()).toBe(0);
      for (const answer of await answers) expectWritten(answer);
      await setup.gateway.start();
      expectWritten(await from.post(padded('{}')));
    },
    floodTimeoutMs,
  );
});
