import { isPortFree } from '@sealgate/local-services';
import { UserError } from './user-error.ts';

export interface SurfacePorts {
  readonly public: number;
  readonly ops: number;
  readonly admin: number;
}

/** The ports of the surface with that number (A is 1 ... D is 4). They do not move when others are left out. */
export function portsOf(base: number, number: number): SurfacePorts {
  return { public: base + number, ops: base + 50 + number, admin: base + 100 + number };
}

/** Of the development provider, at which people of the demo sign in. */
export const providerPort = (base: number): number => base + 80;
/** Of the console, which stands behind the surfaces. */
export const CONSOLE_NUMBER = 5;
export const postgresPort = (base: number): number => base + 90;
export const redisPort = (base: number): number => base + 91;

export interface NeededPort {
  readonly port: number;
  /** What it is needed for, such as "ingest-gateway (admin)". */
  readonly purpose: string;
}

/** Throws one UserError that names every port that somebody else holds. */
export async function checkPorts(needed: readonly NeededPort[]): Promise<void> {
  const taken: string[] = [];
  for (const { port, purpose } of needed) if (!(await isPortFree(port))) taken.push(`${port} for ${purpose}`);
  if (taken.length === 0) return;
  const [subject, verb] = taken.length === 1 ? ['The port', 'is'] : ['The ports', 'are'];
  throw new UserError(`${subject} ${taken.join(', ')} ${verb} taken. Choose others with --port-base N.`);
}
