import { findFabricCommands, hasDockerEngine } from './fabric-commands.ts';
import { DevnetError } from './devnet-error.ts';
import { readMemory } from './network-folder.ts';
import { contractNames, networkPlan, type NetworkPlan, type Role } from './network-plan.ts';
import { openNodes, rolesOf } from './nodes.ts';
import { proveCommits } from './probe.ts';
import { startRoles } from './running-roles.ts';

/** What a test does to a network that is up. Every call returns once it has taken effect. */
export interface NetworkFaults {
  readonly plan: NetworkPlan;
  readonly roles: readonly Role[];
  /** As a power cut: no goodbye to anybody. */
  kill(role: Role): Promise<void>;
  /** In order: calls in flight are ended by the program itself. */
  stop(role: Role): Promise<void>;
  /** Returns once it listens; one that runs already stays as it is. */
  start(role: Role): Promise<void>;
  restart(role: Role): Promise<void>;
  /** It keeps its connections and answers nothing, until `thaw`. */
  freeze(role: Role): Promise<void>;
  thaw(role: Role): Promise<void>;
  /** Starts all that is missing, and returns once a transaction commits everywhere; throws DevnetError after `timeoutMs`. */
  mend(timeoutMs?: number): Promise<void>;
}

export interface FaultsOptions {
  /** Absolute. */
  readonly data: string;
  readonly env: NodeJS.ProcessEnv;
}

/** Opens the network that `up` made in `data`. Throws DevnetError where there is none. */
export async function openFaults({ data, env }: FaultsOptions): Promise<NetworkFaults> {
  const memory = readMemory(data);
  if (memory === undefined) throw new DevnetError(`There is no network on ${data}: npm run fabric:up makes one.`);
  const commands = await findFabricCommands({ env, hasDocker: hasDockerEngine });
  const plan = networkPlan(data, memory);
  const nodes = openNodes({ plan, commands, inDocker: memory.inDocker, programs: memory.programs, env });
  const roles = rolesOf(contractNames.filter((name) => memory.programs[name] !== undefined));
  const orThrow = async (role: Role, done: Promise<boolean>): Promise<void> => {
    if (!(await done)) throw new DevnetError(`${role} does not run.`);
  };
  return {
    plan,
    roles,
    kill: (role) => orThrow(role, nodes.kill(role)),
    stop: (role) => orThrow(role, nodes.end(role)),
    start: (role) => startRoles(plan, nodes, [role]),
    restart: async (role) => {
      await nodes.end(role);
      await startRoles(plan, nodes, [role]);
    },
    freeze: (role) => nodes.freeze(role),
    thaw: (role) => nodes.thaw(role),
    mend: async (timeoutMs = 60_000) => {
      await startRoles(plan, nodes, roles);
      await proveCommits(plan, timeoutMs);
    },
  };
}
