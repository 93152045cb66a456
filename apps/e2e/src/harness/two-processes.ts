import { hash } from 'node:crypto';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import { until } from '@sealgate/testing';
import { adminClient, type AdminClient } from './admin-client.ts';
import { migrate, programOf, type Database } from './bundle.ts';
import { prepareGateway, type Gateway } from './gateway-process.ts';
import { ledgerOrigin } from './surface-setup.ts';
import { newKey } from './peer-setup.ts';
import type { HttpAnswer } from './http-exchange.ts';
import { betweenOrders, boundMs } from './scale.ts';

/** The surfaces that can be run twice here. */
type Surface = 'ingest-gateway' | 'ledger-peer' | 'risk-partner';

/** Two processes of a surface; each can be restarted with other variables while the other one serves. */
export class TwoProcesses {
  readonly #underWay: Map<Gateway, Set<Promise<unknown>>>;
  readonly #environments: ReadonlyMap<Gateway, Record<string, string>>;
  readonly admin: AdminClient;
  readonly gateways: readonly Gateway[];

  private constructor(made: ReadonlyMap<Gateway, Record<string, string>>, adminToken: string) {
    this.#environments = made;
    this.gateways = [...made.keys()];
    this.#underWay = new Map(this.gateways.map((gateway) => [gateway, new Set()]));
    this.admin = adminClient(this.gateways[0]!.admin, adminToken);
  }

  /** Runs the surface's migration job on the database first. Files go into `folder`. */
  static async start(
    surface: Surface,
    { postgres, folder, env }: { postgres: Database; folder: string; env: Readonly<Record<string, string>> },
  ): Promise<TwoProcesses> {
    await migrate(postgres, surface);
    const adminToken = newKey();
    const made = new Map<Gateway, Record<string, string>>();
    for (const number of [1, 2]) {
      // Read at each start.
      const own = {
        DATABASE_URL: postgres.url,
        LEDGER_ORIGIN: ledgerOrigin,
        LEDGER_INTEGRATOR: 'true',
        ADMIN_TOKEN_HASHES: hash('sha256', adminToken, 'hex'),
        CHECKPOINT_DIR: join(folder, `checkpoints-${surface}-${number}`),
        ...env,
      };
      const logFile = join(folder, `${surface}-${number}.log`);
      made.set(await prepareGateway({ program: programOf(surface, 'main'), env: own, logFile }), own);
    }
    const processes = new TwoProcesses(made, adminToken);
    for (const gateway of processes.gateways) await gateway.start();
    return processes;
  }

  async roll(env: Readonly<Record<string, string>>): Promise<void> {
    for (const gateway of this.gateways) await this.restart(gateway, env);
  }

  /** Takes one out of service, and restarts it with these variables. */
  async restart(gateway: Gateway, env: Readonly<Record<string, string>>): Promise<void> {
    const underWay = this.#underWay.get(gateway)!;
    this.#underWay.delete(gateway);
    await Promise.allSettled(underWay);
    expect(await gateway.stop()).toBe(0);
    Object.assign(this.#environments.get(gateway)!, env);
    await gateway.start();
    this.#underWay.set(gateway, new Set());
  }

  /** Sends a request to a running process, as a load balancer would. */
  at<Answer>(ask: (gateway: Gateway) => Promise<Answer>): Promise<Answer> {
    const there = [...this.#underWay];
    const [gateway, underWay] = there[Math.floor(Math.random() * there.length)]!;
    const asked = ask(gateway);
    underWay.add(asked);
    return asked.finally(() => underWay.delete(asked));
  }

  async needs(id: string): Promise<readonly { what: string; until: string }[]> {
    const { secrets } = await this.admin.ask('GET', '/secrets');
    const found = (secrets as { id: string; needs: { what: string; until: string }[] }[]).find((one) => one.id === id);
    return found?.needs ?? [];
  }

  logText(): string {
    return this.gateways.map((gateway) => gateway.logText()).join('');
  }

  async stop(): Promise<void> {
    for (const gateway of this.gateways) {
      if (gateway.isRunning) await gateway.stop();
      gateway.release();
    }
  }
}

/** Runs tasks repeatedly until they are stopped, and records every failure. */
export function load(works: readonly (() => Promise<void>)[]) {
  const wrong: string[] = [];
  let count = 0;
  let isStopped = false;
  const workers = works.map(async (work) => {
    while (!isStopped) {
      await work().catch((error: unknown) => wrong.push(String(error)));
      count += 1;
      await betweenOrders();
    }
  });
  const goOn = async (): Promise<void> => {
    const until_ = count + 60;
    await until(() => count >= until_ || wrong.length > 0, { timeoutMs: boundMs(60_000) });
    expect(wrong.slice(0, 5)).toEqual([]);
  };
  const stop = async (): Promise<void> => {
    isStopped = true;
    await Promise.all(workers);
    expect(wrong.slice(0, 5)).toEqual([]);
  };
  return { goOn, stop };
}

export function expectAnswer(answer: HttpAnswer, status: number): void {
  if (answer.status !== status) throw new Error(`${answer.status} in place of ${status}: ${answer.text}`);
}

export const oneOf = <Value>(values: readonly Value[]): Value | undefined =>
  values[Math.floor(Math.random() * values.length)];

/** Sends a request with a key, and returns the answer. */
export interface Kept {
  readonly key: string;
  readonly body: object;
  readonly text: string;
}

const replaying = new WeakSet<Kept>();

/**
 * Calls `replay` with one of the requests that no other sender replays at this moment: the same request twice at once
 * is refused as IDEMPOTENCY_IN_PROGRESS if the first one takes long. Pauses where there is none.
 */
export async function replayOneOf(kept: readonly Kept[], replay: (one: Kept) => Promise<void>): Promise<void> {
  const one = oneOf(kept.filter((each) => !replaying.has(each)));
  if (one === undefined) return new Promise((resolve) => setTimeout(resolve, 5));
  replaying.add(one);
  try {
    await replay(one);
  } finally {
    replaying.delete(one);
  }
}

export function expectReplay(answer: HttpAnswer, { text }: Kept): void {
  if (answer.text !== text || answer.headers['idempotent-replayed'] !== 'true')
    throw new Error(`No replay: ${answer.status} ${answer.text}`);
}
