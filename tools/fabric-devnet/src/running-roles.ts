import { isPortFree } from '@sealgate/local-services';
import { DevnetError } from './devnet-error.ts';
import { portsOf, type ContractName, type NetworkPlan, type Role } from './network-plan.ts';
import type { Nodes } from './nodes.ts';
import { explainOutput, wordsOf } from './run-command.ts';
import { isListening, waitUntil } from './wait-for-port.ts';

const readyTimeoutMs = 45_000;

/** A program that was killed a moment ago may be counted as gone while its last thread still holds its ports. */
const leaveTimeoutMs = 3_000;

/**
 * Starts the roles that do not run, and returns once each listens. Throws DevnetError when a port is taken by somebody
 * else, or with a program's last words when it ends instead.
 */
export async function startRoles(plan: NetworkPlan, nodes: Nodes, roles: readonly Role[]): Promise<void> {
  const running = await Promise.all(roles.map((role) => nodes.isRunning(role)));
  const absent = roles.filter((_, index) => !running[index]);
  for (const { role, port } of portsOf(plan, contractsOf(roles))) {
    if (absent.includes(role) && !(await waitUntil(() => isPortFree(port), leaveTimeoutMs)))
      throw new DevnetError(
        `The port ${port} is taken; ${role} needs it. Stop what listens there, or choose other ports for a new network: npm run fabric:up -- --fresh --port-base N.`,
      );
  }
  for (const role of absent) await nodes.start(role);
  await Promise.all(roles.map((role) => untilListening(plan, nodes, role)));
}

const contractsOf = (roles: readonly Role[]): readonly ContractName[] =>
  (['records', 'basic'] as const).filter((contract) => roles.some((role) => role.startsWith(`${contract}-`)));

async function untilListening(plan: NetworkPlan, nodes: Nodes, role: Role): Promise<void> {
  const hasEnded = async (): Promise<boolean> => !(await nodes.isRunning(role));
  if (await waitUntil(() => isServing(plan, role), readyTimeoutMs, hasEnded)) return;
  const how = (await hasEnded()) ? 'ended' : `does not answer after ${readyTimeoutMs / 1_000} seconds`;
  const said = wordsOf(await nodes.lastOutput(role)) ?? 'it said nothing';
  const log = nodes.logFile(role) ?? 'in `docker compose logs`';
  throw new DevnetError(explainOutput(`${role} ${how}: ${said} (its log is ${log})`));
}

/** Whether every port of the role takes connections. */
export async function isServing(plan: NetworkPlan, role: Role): Promise<boolean> {
  const ports = portsOf(plan, ['records', 'basic']).filter((entry) => entry.role === role);
  return (await Promise.all(ports.map(({ port }) => isListening(port)))).every(Boolean);
}
