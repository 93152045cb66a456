import type { BenchContext, ReleaseStack } from '../bench-context.ts';
import { warmUpRequests } from '../bodies.ts';
import { fillTables, makeDoor, prepareGateSite, type GateDoor } from '../gateway/gate-site.ts';
import type { Gateway } from '../gateway/gateway-process.ts';
import type { GatewaySite } from '../gateway/gateway-site.ts';
import type { WatchedProcess } from '../proc-usage.ts';
import { startEchoServer } from '../servers/echo-server.ts';
import type { SteadyRow } from './run-rows.ts';

/** One line of the tables: a server and its requests. */
export interface GateRow extends SteadyRow {
  readonly kind: 'express' | 'gate';
  readonly port: number;
  readonly door: GateDoor;
  /** A text that every answer must contain. */
  readonly mustSay: string | undefined;
  readonly watch: readonly WatchedProcess[];
  /** The database with the log of decisions. */
  readonly site: GatewaySite | undefined;
  /** Where each check is about a subject that is not in the gate's cache: the number of subjects. */
  readonly cold: { checks: number } | undefined;
  /** The gate's process. */
  readonly gateway: Gateway | undefined;
}

/** One subject per connection. */
export const subjects = 64;
/** More than a process of the gate caches, so that subjects asked in turn are never cached. */
const coldSubjects = 22_000;
const others = { normal: 100_000, quick: 10_000 };

/** Express first; then the gate, with Redis where available, and without. All receive the same bodies. */
export async function startGateRows(context: BenchContext, stack: ReleaseStack): Promise<GateRow[]> {
  const { redis } = context;
  const gates = [
    ...(redis === undefined ? [] : [await gateRow(context, stack, redis)]),
    await gateRow(context, stack, undefined),
    // Creating so many takes minutes.
    ...(context.options.quick ? [] : [await gateRow(context, stack, undefined, coldSubjects)]),
  ];
  const echo = await startEchoServer('express-echo', `${context.folder}/express-echo.log`);
  stack.own('Express', () => echo.stop());
  const door = { ...gates[0]!.door, path: '/bench' };
  const express: GateRow = {
    ...{ name: 'Express 5 echo', kind: 'express', port: echo.port, door, mustSay: undefined },
    ...{ site: undefined, gateway: undefined, cold: undefined },
    watch: [{ name: 'server', pid: echo.pid }],
    ...{ warmUpRequests: warmUpRequests.single, warmUps: [], rounds: [], steady: [] },
  };
  return [express, ...gates];
}

async function gateRow(
  context: BenchContext,
  stack: ReleaseStack,
  redis: BenchContext['redis'],
  cold?: number,
): Promise<GateRow> {
  const name = cold !== undefined ? 'cold' : redis === undefined ? 'without' : 'with';
  const site = await prepareGateSite(context, { name: `gate_${name}`, redisUrl: redis?.url, stack });
  const gateway = await site.start();
  if (cold !== undefined) context.tell(`Sealing ${cold} subjects`);
  const door = await makeDoor({ site, gateway }, cold ?? subjects);
  await fillTables(site, context.options.quick ? others.quick : others.normal);
  return {
    name: cold === undefined ? `gate, ${name} Redis` : 'gate, cold subjects only',
    ...{ kind: 'gate', port: gateway.port, door, site, gateway, cold: cold === undefined ? undefined : { checks: 0 } },
    mustSay: '"decision":"allow","allow":true',
    watch: [
      { name: 'server', pid: gateway.pid },
      { name: 'postgres', pid: context.postgres.pid, family: true },
      ...(redis === undefined ? [] : [{ name: 'redis', pid: redis.pid }]),
    ],
    ...{ warmUpRequests: warmUpRequests.single, warmUps: [], rounds: [], steady: [] },
  };
}
