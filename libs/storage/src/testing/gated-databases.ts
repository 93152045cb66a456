import { afterAll, afterEach, beforeAll, beforeEach } from '@jest/globals';
import { throwawayPostgres, type ThrowawayPostgres } from '@sealgate/testing';
import { DatabaseUnavailableError, openDatabase, type Database, type DatabaseOptions } from '../index.ts';
import { tcpGate, type TcpGate } from './tcp-gate.ts';

export const one = { name: 'one', text: 'SELECT $1::int AS n', values: [1] };

interface GatedDatabases {
  /** A database behind the gate, with a deadline of 400 ms by default; closed after the test. */
  open(options?: Partial<DatabaseOptions>): Database;
  server(): ThrowawayPostgres;
  gate(): TcpGate;
}

/** Sets up a server per test file, and per test a gate before it and an empty table `t (id int)`. */
export function gatedDatabases(): GatedDatabases {
  let server: ThrowawayPostgres;
  let gate: TcpGate;
  const opened: Database[] = [];
  const open: GatedDatabases['open'] = (options = {}) => {
    const limits = { maxConnections: 4, connectTimeoutMs: 400, deadlineMs: 400 };
    const database = openDatabase({
      url: gate.through(server.url),
      applicationName: 'storage-test',
      ...limits,
      ...options,
    });
    opened.push(database);
    return database;
  };

  beforeAll(async () => {
    server = await throwawayPostgres();
  }, 120_000);
  afterAll(() => server.stop());
  beforeEach(async () => {
    gate = await tcpGate(server.url);
    const setup = open({ url: server.url, connectTimeoutMs: 10_000, deadlineMs: 10_000 });
    await setup.query({ text: 'DROP TABLE IF EXISTS t' });
    await setup.query({ text: 'CREATE TABLE t (id int CONSTRAINT t_id PRIMARY KEY)' });
  });
  afterEach(async () => {
    gate.thaw();
    await Promise.all(opened.splice(0).map((database) => database.close()));
    await gate.close();
  });
  return { open, server: () => server, gate: () => gate };
}

/** The result of a call, or `sent` of its DatabaseUnavailableError. */
export async function outcome(call: Promise<unknown>): Promise<unknown> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof DatabaseUnavailableError) return { sent: error.sent };
    throw error;
  }
}
