import { openDatabase, type Database } from '@sealgate/storage';

/** As in production: every commit is on disk before it is acknowledged, and torn pages are repaired. */
export const postgresSettings = {
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  shared_buffers: '256MB',
  max_wal_size: '8GB',
  checkpoint_timeout: '15min',
  max_connections: '200',
};

/** Unless all of these are on, an acknowledged commit may be lost. */
const durableSettings = ['fsync', 'synchronous_commit', 'full_page_writes'];

/** These do not affect durability, but strongly affect speed. */
const speedSettings = ['shared_buffers', 'max_wal_size', 'checkpoint_timeout'];

const deadlineMs = 120_000;

/** A few connections for counting and inspecting. */
export function openForBench(url: string): Database {
  return openDatabase({
    url,
    deadlineMs,
    applicationName: 'sealgate-bench',
    maxConnections: 2,
    connectTimeoutMs: 10_000,
  });
}

/** The settings for connections with this URL: a role or a database may have its own. */
export async function readSettings(url: string): Promise<Record<string, string>> {
  const sql = openForBench(url);
  try {
    const text = 'SELECT name, current_setting(name) AS value FROM unnest($1::text[]) name';
    const names = [...durableSettings, ...speedSettings];
    const rows = await sql.query<{ name: string; value: string }>({ text, values: [names] });
    return Object.fromEntries(rows.map(({ name, value }) => [name, value]));
  } finally {
    await sql.close();
  }
}

/** Why commits with these settings are not durable, as sentences. */
export const durabilityFaults = (settings: Readonly<Record<string, string>>): string[] =>
  durableSettings
    .filter((name) => settings[name] !== 'on')
    .map((name) => `${name} of PostgreSQL is ${settings[name]}.`);
