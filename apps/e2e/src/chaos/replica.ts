import { join } from 'node:path';
import { adminClient, type AdminClient } from '../harness/admin-client.ts';
import { prepareGateway, type Gateway } from '../harness/gateway-process.ts';
import { programOf } from '../harness/bundle.ts';
import type { Surface } from './history.ts';
import { oneAtATime, type OneAtATime } from './one-at-a-time.ts';

/** One process of a surface, with variables that are read at each start. */
export interface Replica {
  readonly surface: Surface;
  readonly index: number;
  /** `ingest-gateway/1`, as faults name it. */
  readonly name: string;
  readonly process: Gateway;
  readonly admin: AdminClient;
  /** The same for all replicas of a surface. */
  readonly adminToken: string;
  readonly env: Record<string, string>;
  /** One at a time: what is being restarted is not killed meanwhile. */
  readonly alone: OneAtATime;
  /** Starts it. A start that fails, as while PostgreSQL is away for long, is repeated like by an orchestrator. */
  start(): Promise<void>;
  /** Stops it like an orchestrator, and starts it. */
  restart(): Promise<void>;
}

export interface ReplicaOptions {
  readonly surface: Surface;
  readonly index: number;
  readonly folder: string;
  readonly env: Record<string, string>;
  readonly adminToken: string;
  readonly tls?: { readonly scheme: 'https'; readonly ca: string } | undefined;
}

const STARTS = 3;

/** A process on free ports, not yet started. */
export async function prepareReplica(options: ReplicaOptions): Promise<Replica> {
  const { surface, index, folder, env, adminToken, tls } = options;
  const logFile = join(folder, `${surface}-${index}.log`);
  const process = await prepareGateway({ env, logFile, program: programOf(surface, 'main'), ...tls });
  const start = async (): Promise<void> => {
    for (let left = STARTS; ; left -= 1) {
      try {
        return await process.start();
      } catch (error) {
        if (left === 1) throw error;
        await process.kill();
      }
    }
  };
  return {
    surface,
    index,
    name: `${surface}/${index}`,
    process,
    admin: adminClient(process.admin, adminToken),
    adminToken,
    env,
    alone: oneAtATime(),
    start,
    async restart() {
      await process.stop();
      await start();
    },
  };
}
