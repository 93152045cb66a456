import { openDatabase, type Database } from '@sealgate/storage';
import type { Secrets } from './secrets.ts';

/** The address of the database for whoever migrates it, and for each surface's own run-time role. */
export interface LocalDatabase {
  readonly ownerUrl: string;
  runtimeUrl(surface: string): string;
}

const databaseName = 'sealgate';

/** Makes the database, and a role without rights of its own for each surface, in the PostgreSQL that was started here. */
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
    for (const surface of surfaces) await makeRole(database, roleOf(surface), passwordOf(secrets, surface));
  } finally {
    await database.close();
  }
  return {
    ownerUrl: withParts(superuserUrl, {}),
    runtimeUrl: (surface) =>
      withParts(superuserUrl, { username: roleOf(surface), password: passwordOf(secrets, surface) }),
  };
}

/** A database that was given: whoever gave it decides who migrates and who runs. */
export function givenDatabase(databaseUrl: string, migrationUrl: string | undefined): LocalDatabase {
  return { ownerUrl: migrationUrl ?? databaseUrl, runtimeUrl: () => databaseUrl };
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
