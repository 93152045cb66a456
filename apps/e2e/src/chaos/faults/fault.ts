import { setTimeout as delay } from 'node:timers/promises';
import type { Meter } from '../load/meter.ts';
import type { Random } from '../random.ts';
import type { Replica } from '../replica.ts';
import type { Surface } from '../history.ts';
import type { Site } from '../site.ts';

/** What a fault can reach. */
export interface Scene {
  readonly site: Site;
  readonly meter: Meter;
}

/** What was broken, and by how much: `{ kills: 1 }`. */
export interface Done {
  /** `ingest-gateway/1`, `postgres`, `redis`. */
  readonly hit: string;
  readonly did: Readonly<Record<string, number>>;
  /** Milliseconds from a promotion until each replica of the gateway had a write acknowledged. */
  readonly againMs?: readonly number[];
}

/** A kind of fault: it breaks something, leaves it broken under load for a drawn time, and heals it. */
export interface FaultKind {
  readonly name: string;
  /** Nothing else is broken meanwhile, so that what requests meet is the work of this fault alone. */
  readonly isAlone?: true;
  /** Whether requests must be decided in time while it lasts. */
  readonly isBounded?: true;
  /** How often it is drawn while each other one is drawn once; default 1. */
  readonly perRound?: number;
  /** Why it cannot be had here. */
  readonly missing?: (site: Site) => string | undefined;
  run(scene: Scene, random: Random): Promise<Done>;
}

/** Leaves it broken for a drawn time. */
export const last = (random: Random, leastMs: number, mostMs: number): Promise<void> =>
  delay(random.between(leastMs, mostMs));

export const onLinux = (): string | undefined =>
  process.platform === 'linux' ? undefined : 'processes can be frozen on Linux only';

/** One of these, of those that run. */
export const surfaceOf = <Of extends Surface>(site: Site, random: Random, among: readonly Of[]): Of =>
  random.pick(among.filter((surface) => site.replicasOf(surface).length > 0));

export const restarted = (replica: Replica): Promise<void> => replica.alone(() => replica.restart());

/** Runs the work with other variables of these replicas, which are restarted, one after the other, before and after it. */
export async function withVariables(
  replicas: readonly Replica[],
  variables: Readonly<Record<string, string>>,
  work: () => Promise<void>,
): Promise<void> {
  const before = replicas.map(({ env }) => ({ ...env }));
  try {
    for (const replica of replicas) {
      Object.assign(replica.env, variables);
      await restarted(replica);
    }
    await work();
  } finally {
    for (const [place, replica] of replicas.entries()) {
      for (const name of Object.keys(variables)) delete replica.env[name];
      Object.assign(replica.env, before[place]);
      await restarted(replica);
    }
  }
}
