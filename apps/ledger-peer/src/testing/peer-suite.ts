import { afterAll, afterEach, beforeAll } from '@jest/globals';
import {
  openTestDatabase,
  testPeer,
  type TestDatabase,
  type TestPeer,
  type TestPeerOptions,
} from './open-test-peer.ts';
import { scriptedLedger, type Script, type ScriptedLedger } from './scripted-ledger.ts';

/** A database for the tests of a file, and peers on it that are closed after each test. */
interface PeerSuite {
  readonly database: TestDatabase;
  /** A separate process, on a scripted ledger. */
  peerWith(script?: Script, more?: Partial<TestPeerOptions>): TestPeer & { readonly ledger: ScriptedLedger };
  /** Registers a resource to be closed after the test. */
  keep(peer: TestPeer): TestPeer;
  rows(): Promise<object[]>;
}

export function peerSuite(): PeerSuite {
  let database: TestDatabase | undefined;
  const peers: TestPeer[] = [];
  let owners = 0;
  const opened = (): TestDatabase => {
    if (database === undefined) throw new Error('The database is opened before the first test.');
    return database;
  };
  beforeAll(async () => {
    database = await openTestDatabase();
  }, 60_000);
  afterAll(() => database?.close());
  afterEach(async () => {
    await Promise.all(peers.splice(0).map((peer) => peer.close()));
    await opened().sql.query({ text: 'TRUNCATE peer.jobs' });
  });
  const keep = (peer: TestPeer): TestPeer => {
    peers.push(peer);
    return peer;
  };
  return {
    get database() {
      return opened();
    },
    keep,
    peerWith(script = {}, more = {}) {
      const ledger = scriptedLedger(script);
      const owner = `p${(owners += 1)}`;
      return { ...keep(testPeer({ sql: opened().sql, ledger, owner, ...more })), ledger };
    },
    rows: () => opened().sql.query({ text: 'SELECT job_id, status, promised, claim FROM peer.jobs' }),
  };
}
