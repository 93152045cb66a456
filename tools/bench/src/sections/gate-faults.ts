import { setTimeout as delay } from 'node:timers/promises';
import type { LocalPostgres } from '@sealgate/local-services';
import { childrenOf } from '../proc-usage.ts';
import type { Site } from '../surfaces/site.ts';

/** A fault that makes the gate's database unavailable. Each undoes itself, once. */
export interface Fault {
  readonly name: string;
  readonly begin: () => Promise<void>;
  /** The database is available again once this has ended. */
  readonly end: () => Promise<void>;
}

interface FaultTargets {
  readonly site: Site;
  /** The server that runs now. */
  readonly postgres: () => LocalPostgres;
  /** Starts it again at the same address. */
  readonly restart: () => Promise<void>;
}

export function gateFaults(targets: FaultTargets): Fault[] {
  return [stopped(targets), frozen(targets), exhausted(targets), refused(targets)];
}

function stopped({ postgres, restart }: FaultTargets): Fault {
  return { name: 'PostgreSQL stopped', begin: () => postgres().stop('immediate'), end: restart };
}

function frozen({ postgres }: FaultTargets): Fault {
  const signal = async (name: 'SIGSTOP' | 'SIGCONT'): Promise<void> => {
    // The parent first, so that it forks no child that would be missed.
    for (const pid of [postgres().pid, ...childrenOf(postgres().pid)]) process.kill(pid, name);
  };
  return { name: 'PostgreSQL frozen', begin: () => signal('SIGSTOP'), end: () => signal('SIGCONT') };
}

/** Every statement of the gate waits for a lock, so all of its connections stay in use. */
function exhausted({ site }: FaultTargets): Fault {
  let letGo: () => void = () => undefined;
  let held: Promise<void> = Promise.resolve();
  const begin = (): Promise<void> =>
    new Promise((isHeld, failed) => {
      held = site.sql.transaction(async (sql) => {
        await sql.query({ text: 'LOCK TABLE gate.eligibility IN ACCESS EXCLUSIVE MODE' });
        isHeld();
        await new Promise<void>((done) => (letGo = done));
      });
      held.catch(failed);
    });
  const end = async (): Promise<void> => {
    letGo();
    await held;
  };
  return { name: 'its connections all taken', begin, end };
}

/** The gate's role may open no connection, and loses those it has. */
function refused({ site }: FaultTargets): Fault {
  const role = new Promise<string>((resolve, reject) => {
    const text = `SELECT DISTINCT usename FROM pg_stat_activity WHERE application_name LIKE 'case-gate%'`;
    site.sql.query<{ usename: string }>({ text }).then(([row]) => resolve(row?.usename ?? ''), reject);
  });
  const limit = async (connections: number): Promise<void> => {
    await site.sql.query({ text: `ALTER ROLE ${await role} CONNECTION LIMIT ${connections}` });
  };
  const begin = async (): Promise<void> => {
    await limit(0);
    const text = 'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1';
    await site.sql.query({ text, values: [await role] });
    await delay(1);
  };
  return { name: 'its connections refused', begin, end: () => limit(-1) };
}
