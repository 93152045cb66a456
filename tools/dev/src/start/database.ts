import { openDatabase, type Database } from '@sealgate/storage';
import type { Secrets } from './secrets.ts';

/** The address of the database for whoever migrates it, and for each surface's own run-time role. */
export interface LocalDatabase {
  readonly ownerUrl: string;
  runtimeUrl(surface: string): string;
  /** Of the role of the admin listeners in the ledger; undefined where whoever gave the database has made none. */
  readonly operatorUrl: string | undefined;
}

const databaseName = 'sealgate';
/** What reads, audits and erases every channel for whoever holds an admin token. */
const OPERATOR = 'ledger-operator';

/** Makes the database, a role without rights of its own for each surface, and one for operators, in the PostgreSQL that was started here. */
export async function prepareDatabase(
  superuserUrl: string,
  { surfaces, secrets }: { surfaces: readonly string[]; secrets: Secrets },
): Promise<LocalDatabase> {
  const database = openDatabase({
    url: superuserUrl,
    applicationName: 'sealgate-start',
    maxConnections: 1,
    connectTimeoutMs: 10_000,
    deadlineMs: 30_000,
  });
  try {
    await makeDatabase(database);
    for (const name of [...surfaces, OPERATOR]) await makeRole(database, roleOf(name), passwordOf(secrets, name));
  } finally {
    await database.close();
  }
  const urlOf = (name: string) =>
    withParts(superuserUrl, { username: roleOf(name), password: passwordOf(secrets, name) });
  return { ownerUrl: withParts(superuserUrl, {}), runtimeUrl: urlOf, operatorUrl: urlOf(OPERATOR) };
}

/** A database that was given: whoever gave it decides who migrates and who runs. */
export function givenDatabase(databaseUrl: string, migrationUrl: string | undefined): LocalDatabase {
  return { ownerUrl: migrationUrl ?? databaseUrl, runtimeUrl: () => databaseUrl, operatorUrl: undefined };
}

const roleOf = (surface: string): string => surface.replaceAll('-', '_');
const passwordOf = (secrets: Secrets, surface: string): string => secrets.secret(`${surface}.databasePassword`);

async function makeDatabase(database: Database): Promise<void> {
  const found = await database.query({ text: 'SELECT 1 FROM pg_database WHERE datname = $1', values: [databaseName] });
  if (found.length === 0) await database.query({ text: `CREATE DATABASE ${databaseName} TEMPLATE template0` });
}

/** The name is one of our own and the password base64url, so neither can end the text that it stands in. */
async function makeRole(database: Database, role: string, password: string): Promise<void> {
  const found = await database.query({ text: 'SELECT 1 FROM pg_roles WHERE rolname = $1', values: [role] });
  const verb = found.length === 0 ? 'CREATE' : 'ALTER';
  await database.query({ text: `${verb} ROLE ${role} LOGIN PASSWORD '${password}'` });
}

function withParts(url: string, parts: { username?: string; password?: string }): string {
  const made = Object.assign(new URL(url), parts);
  made.pathname = `/${databaseName}`;
  return made.href;
}
