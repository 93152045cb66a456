import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { isPortFree } from '@sealgate/local-services';
import { DevnetError } from './devnet-error.ts';
import { contractsIn, type NetworkPlan, portsOf, type Role } from './network-plan.ts';
import { explainOutput, wordsOf } from './run-command.ts';
import type { Nodes } from './compose-nodes.ts';

const readyTimeoutMs = 45_000;

/** A killed process may be reported as gone while its last thread still holds its ports. */
const leaveTimeoutMs = 3_000;

/**
 * Starts the roles that are not running, and returns once each is listening. Throws DevnetError if a port is in use, or
 * with a program's last output if it exits instead.
 */
export async function startRoles(plan: NetworkPlan, nodes: Nodes, roles: readonly Role[]): Promise<void> {
  const running = await Promise.all(roles.map((role) => nodes.isRunning(role)));
  const absent = roles.filter((_, index) => !running[index]);
  for (const { role, port } of portsOf(plan, contractsIn(plan.settings.programs))) {
    if (absent.includes(role) && !(await waitUntil(() => isPortFree(port), leaveTimeoutMs)))
      throw new DevnetError(
        `The port ${port} is in use; ${role} needs it. Stop the process that uses it, or choose other ports for a new network: npm run fabric:up -- --fresh --port-base N.`,
      );
  }
  for (const role of absent) await nodes.start(role);
  await Promise.all(roles.map((role) => untilListening(plan, nodes, role)));
}

async function untilListening(plan: NetworkPlan, nodes: Nodes, role: Role): Promise<void> {
  const hasEnded = async (): Promise<boolean> => !(await nodes.isRunning(role));
  if (await waitUntil(() => isServing(plan, role), readyTimeoutMs, hasEnded)) return;
  const how = (await hasEnded()) ? 'exited' : `does not answer after ${readyTimeoutMs / 1_000} seconds`;
  const said = wordsOf(await nodes.lastOutput(role)) ?? 'no output';
  const log = nodes.logFile(role) ?? 'in `docker compose logs`';
  throw new DevnetError(explainOutput(`${role} ${how}: ${said} (its log is ${log})`));
}

/** Whether every port of the role accepts connections. */
export async function isServing(plan: NetworkPlan, role: Role): Promise<boolean> {
  const ports = portsOf(plan, contractsIn(plan.settings.programs)).filter((entry) => entry.role === role);
  return (await Promise.all(ports.map(({ port }) => isListening(port)))).every(Boolean);
}

/** Whether a process listens on 127.0.0.1 at that port. */
export function isListening(port: number): Promise<boolean> {
  return new Promise((done) => {
    const socket = connect({ port, host: '127.0.0.1', timeout: 2_000 });
    const end = (answer: boolean): void => {
      socket.destroy();
      done(answer);
    };
    socket.once('connect', () => end(true));
    socket.once('error', () => end(false));
    socket.once('timeout', () => end(false));
  });
}

/** Polls until the condition holds. False after `timeoutMs`, or once `isHopeless` returns true. */
export async function waitUntil(
  isTrue: () => Promise<boolean>,
  timeoutMs: number,
  isHopeless: () => Promise<boolean> = async () => false,
): Promise<boolean> {
  const end = performance.now() + timeoutMs;
  while (performance.now() < end) {
    if (await isTrue()) return true;
    if (await isHopeless()) return false;
    await delay(50);
  }
  return false;
}
