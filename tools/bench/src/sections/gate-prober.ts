import { fork } from 'node:child_process';
import { join } from 'node:path';
import type { GateDoor } from '../gateway/gate-site.ts';

/** Milliseconds of a clock shared by all processes of a machine. */
export const monotonicMs = (): number => Number(process.hrtime.bigint()) / 1e6;

export interface DoorsOrder {
  readonly port: number;
  readonly door: GateDoor;
}

/** One check of a door; times are those of `monotonicMs()`. */
export interface ProbedCheck {
  readonly startedAt: number;
  readonly endedAt: number;
  /** 0 where no answer came. */
  readonly status: number;
  /** `unclear`: not explicitly either. */
  readonly said: 'allow' | 'deny' | 'unclear';
}

interface Prober {
  /** The checks reported so far. */
  readonly checks: readonly ProbedCheck[];
  /** Resolves once every check has been answered, and is in `checks`. */
  stop(): Promise<void>;
}

/** Starts the doors of `gate-doors.ts`. */
export function startProber(order: DoorsOrder): Prober {
  const checks: ProbedCheck[] = [];
  const child = fork(join(import.meta.dirname, 'gate-doors.ts'), { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  child.on('message', (check: ProbedCheck) => checks.push(check));
  const ended = new Promise<void>((done) => {
    child.once('exit', () => done());
    child.once('error', () => done());
  });
  child.send(order);
  return {
    checks,
    async stop() {
      if (child.connected) child.send('end');
      await ended;
    },
  };
}
