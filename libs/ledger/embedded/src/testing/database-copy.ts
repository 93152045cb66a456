import { openDatabase } from '@sealgate/storage';

/**
 * A copy of a whole database as it is now. What is given back puts the database back to it: as a restored dump, or a
 * failover to a server that was behind, would. Connections are cut both times.
 */
export async function copyDatabase(url: string, suffix = 'copy'): Promise<() => Promise<void>> {
  const name = new URL(url).pathname.slice(1);
  const copy = `${name}_${suffix}`;
  const replace = async (from: string, to: string) => {
    const maintenance = Object.assign(new URL(url), { pathname: '/postgres' }).href;
    const options = { applicationName: 'copy', maxConnections: 1, connectTimeoutMs: 5000, deadlineMs: 60_000 };
    const sql = openDatabase({ ...options, url: maintenance });
    try {
      const run = (text: string) => sql.query({ text });
      for (const each of [from, to]) {
        const [known] = await sql.query({ text: 'SELECT 1 FROM pg_database WHERE datname = $1', values: [each] });
        if (known !== undefined) await run(`ALTER DATABASE ${each} ALLOW_CONNECTIONS false`);
        await sql.query({
          text: 'SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = $1',
          values: [each],
        });
      }
      await run(`DROP DATABASE IF EXISTS ${to} WITH (FORCE)`);
      await run(`CREATE DATABASE ${to} TEMPLATE ${from}`);
      for (const each of [from, to]) await run(`ALTER DATABASE ${each} ALLOW_CONNECTIONS true`);
    } finally {
      await sql.close();
    }
  };
  await replace(name, copy);
  return () => replace(copy, name);
}
