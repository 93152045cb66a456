import { findFabricCommands, hasDockerEngine } from './fabric-commands.ts';
import { DevnetError } from './devnet-error.ts';
import { readMemory } from './network-folder.ts';
import { contractsWithPrograms, networkPlan, type NetworkPlan, type Role } from './network-plan.ts';
import { openNodes, rolesOf } from './nodes.ts';
import { proveCommits } from './probe.ts';
import { startRoles } from './running-roles.ts';

/** Fault injection for a running network. Each call returns once it has taken effect. */
export interface NetworkFaults {
  readonly plan: NetworkPlan;
  readonly roles: readonly Role[];
  /** SIGKILL. */
  kill(role: Role): Promise<void>;
  /** SIGTERM: the program ends calls in flight itself. */
  stop(role: Role): Promise<void>;
  /** Returns once it is listening; does nothing if it is running. */
  start(role: Role): Promise<void>;
  restart(role: Role): Promise<void>;
  /** Keeps its connections and answers nothing, until `thaw`. */
  freeze(role: Role): Promise<void>;
  thaw(role: Role): Promise<void>;
  /**
   * Starts all stopped programs, and returns once transactions commit on all channels; throws DevnetError after
   * `timeoutMs`.
   */
  mend(timeoutMs?: number): Promise<void>;
}

interface FaultsOptions {
  /** Absolute. */
  readonly data: string;
  readonly env: NodeJS.ProcessEnv;
}

/** Opens the network that `up` created in `data`. @throws DevnetError if there is none. */
export async function openFaults({ data, env }: FaultsOptions): Promise<NetworkFaults> {
  const memory = readMemory(data);
  if (memory === undefined) throw new DevnetError(`There is no network in ${data}: create one with npm run fabric:up.`);
  const commands = await findFabricCommands({ env, hasDocker: hasDockerEngine });
  const plan = networkPlan(data, memory);
  const nodes = openNodes({ plan, commands, inDocker: memory.inDocker, programs: memory.programs, env });
  const roles = rolesOf(plan, contractsWithPrograms(memory.programs));
  const orThrow = async (role: Role, done: Promise<boolean>): Promise<void> => {
    if (!(await done)) throw new DevnetError(`${role} is not running.`);
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
