import { fork } from 'node:child_process';
import { join } from 'node:path';
import type { GateDoor } from '../gateway/gate-site.ts';

/** Milliseconds of a clock that all processes of a machine share. */
export const monotonicMs = (): number => Number(process.hrtime.bigint()) / 1e6;

export interface DoorsOrder {
  readonly port: number;
  readonly door: GateDoor;
}

/** One check, as a door met it; moments are of `monotonicMs()`. */
export interface ProbedCheck {
  readonly startedAt: number;
  readonly endedAt: number;
  /** 0 where no answer came. */
  readonly status: number;
  /** `unclear`: neither in so many words. */
  readonly said: 'allow' | 'deny' | 'unclear';
}

export interface Prober {
  /** What has been told so far. */
  readonly checks: readonly ProbedCheck[];
  /** Resolves once every check has been answered, and is in `checks`. */
  stop(): Promise<void>;
}

/** Sets the doors of `gate-doors.ts` asking. */
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
