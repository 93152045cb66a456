import { copyFileSync, renameSync } from 'node:fs';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { testClock, until, type TestClock } from '@sealgate/testing';
import type { ClientIdentity } from '@sealgate/testing/fabric';
import type { FabricClient } from './fabric-client.ts';
import { MisconfiguredError, UnavailableError } from './fabric-errors.ts';
import { caught, read, write } from './testing/contract-calls.ts';
import { openTestFabric, type TestFabric } from './testing/open-test-fabric.ts';

let test: TestFabric;
let client: FabricClient;
let clock: TestClock;
let certFile: string;
let keyFile: string;

beforeAll(async () => {
  test = await openTestFabric();
  certFile = join(test.peer.directory, 'service-cert.pem');
  keyFile = join(test.peer.directory, 'service-key.pem');
  clock = testClock(new Date().toISOString());
  // The files are checked once a second of this clock.
  client = test.open({ connection: test.connection({ certFile, keyFile }), now: clock.now });
}, 60_000);
afterAll(() => test.close());

function install(identity: ClientIdentity): void {
  for (const [from, to] of [
    [identity.certFile, certFile],
    [identity.keyFile, keyFile],
  ] as const) {
    copyFileSync(from, `${to}.new`);
    renameSync(`${to}.new`, to);
  }
  clock.advance(1000);
}

describe('an identity that is rotated', () => {
  it('may appear after the start: until then nothing is sent, and it is reported', async () => {
    expect(client.credentials()).toEqual({
      ok: false,
      problems: ['the certificate cannot be read', 'the private key cannot be read'],
      certificateExpiresAt: null,
    });
    expect(await client.health([read('a')])).toMatchObject({ ok: false, contracts: [{ reason: 'identity_unusable' }] });
    expect(await caught(client.submit(write(randomUUID())))).toBeInstanceOf(UnavailableError);
    install(test.peer.identity);
    expect(client.credentials()).toMatchObject({ ok: true });
    expect(await client.submit(write(randomUUID()))).toHaveProperty('blockNumber');
  });

  it('interrupts no running call, and signs later ones', async () => {
    test.peer.orderer.hold();
    const id = randomUUID();
    const underWay = client.submit(write(id));
    await until(() => test.peer.channel('main').pending() === 1);
    install(test.peer.enroll('service, rotated'));
    const next = client.submit(write(randomUUID()));
    await until(() => test.peer.channel('main').pending() === 2);
    test.peer.orderer.release();
    await Promise.all([underWay, next]);
    expect((await client.evaluate(read(id))).length).toBeGreaterThan(0);
  });

  it('replaces the old one: an identity unknown to the channel is refused', async () => {
    const known = test.peer.enroll('service');
    install(test.peer.enroll('stranger', 'StrangerMSP'));
    expect(await caught(client.evaluate(read('a')))).toBeInstanceOf(MisconfiguredError);
    install(known);
    expect(await caught(client.evaluate(read('a')))).toBeUndefined();
  });
});
