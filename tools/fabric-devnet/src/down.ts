import { existsSync } from 'node:fs';
import { explainFileError } from '@sealgate/local-services';
import { locked, readMemory } from './network-folder.ts';
import { contractsIn, networkPlan, type ContractPrograms, type NetworkPlan } from './network-plan.ts';
import { openNodes, rolesOf } from './nodes.ts';
import type { Nodes } from './compose-nodes.ts';

/** Stops all programs of the network in `data` in parallel and returns how many were running. Committed data stays. */
export async function down({ data, env }: { readonly data: string; readonly env: NodeJS.ProcessEnv }): Promise<number> {
  if (!existsSync(data)) return 0;
  const memory = readMemory(data);
  if (memory === undefined) return 0;
  const plan = networkPlan(data, memory);
  const nodes = openNodes({ plan, commands: undefined, programs: {}, env, inDocker: memory.inDocker });
  try {
    return await locked(plan.lockFile, () => endAll(plan, nodes, memory.programs), { evenIfFull: true });
  } catch (error) {
    throw explainFileError(error, data);
  }
}

async function endAll(plan: NetworkPlan, nodes: Nodes, programs: ContractPrograms): Promise<number> {
  const ended = await Promise.all(rolesOf(plan, contractsIn(programs)).map((role) => nodes.end(role)));
  return ended.filter(Boolean).length;
}
