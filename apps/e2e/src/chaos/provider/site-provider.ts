import { spawn, type ChildProcess } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '@sealgate/testing';
import { ended, quietPort } from '../../harness/gateway-process.ts';
import { guard } from '../../harness/guardian.ts';
import { newToken } from '../../harness/new-secrets.ts';
import type { ProviderPerson, ProviderSettings } from './settings.ts';

/** The process of the identity provider. */
export interface SiteProvider {
  readonly issuer: string;
  readonly pid: number;
  readonly client: ProviderSettings['client'];
  /** Where browsers reach the console, and the provider sends them back. */
  readonly consoleUrl: string;
  /** Starts it, and resolves once it answers. */
  start(): Promise<void>;
  kill(): Promise<void>;
}

const START_WITHIN_MS = 60_000;
const ASK_WITHIN_MS = 2_000;

/** A provider on a free port, not yet started. */
export async function prepareProvider({
  folder,
  audiences,
  people,
}: {
  readonly folder: string;
  readonly audiences: readonly string[];
  readonly people: readonly ProviderPerson[];
}): Promise<SiteProvider> {
  const port = await quietPort();
  // Nothing listens there: clients of a replica play the load balancer.
  const consoleUrl = `http://127.0.0.1:${await quietPort()}`;
  const client = { id: 'console', secret: newToken(), redirectUri: `${consoleUrl}/signed-in` };
  const settings: ProviderSettings = {
    ...{ port, audiences, people, client },
    signingKey: newSigningKey(),
    cookieSecret: newToken(),
    storeFile: join(folder, 'provider.ndjson'),
  };
  const issuer = `http://127.0.0.1:${port}`;
  const logFile = join(folder, 'provider.log');
  let child: ChildProcess | undefined;
  const isThere = (): Promise<boolean> =>
    fetch(`${issuer}/.well-known/openid-configuration`, { signal: AbortSignal.timeout(ASK_WITHIN_MS) }).then(
      async (answer) => answer.text().then(() => answer.ok),
      () => false,
    );
  const isRunning = (): boolean => child !== undefined && child.exitCode === null && child.signalCode === null;
  return {
    issuer,
    client,
    consoleUrl,
    get pid() {
      return child?.pid ?? 0;
    },
    async start() {
      const log = openSync(logFile, 'a');
      child = spawn(process.execPath, [join(import.meta.dirname, 'main.ts')], {
        env: { PROVIDER: JSON.stringify(settings), NODE_NO_WARNINGS: '1' },
        stdio: ['ignore', log, log],
      });
      closeSync(log);
      guard(child);
      await until(async () => !isRunning() || (await isThere()), { timeoutMs: START_WITHIN_MS, what: 'a provider' });
      if (!isRunning()) throw new Error(`The provider did not start:\n${readFileSync(logFile, 'utf8').slice(-4_000)}`);
    },
    kill: () => ended(child, 'SIGKILL'),
  };
}

function newSigningKey(): ProviderSettings['signingKey'] {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return { ...privateKey.export({ format: 'jwk' }), alg: 'ES256', use: 'sig', kid: 'chaos' };
}
