import type { Fault } from '@sealgate/errors';

export interface ParsedQuery {
  readonly values: Readonly<Record<string, string>>;
  /** Parameters that are unknown or came more than once. */
  readonly faults: readonly Fault[];
}

/** More faults than this help nobody. */
export const MAX_FAULTS = 100;

/** Reads the query of a URL: every parameter must be known and come once. */
export function parseQuery(url: string, known: ReadonlySet<string>): ParsedQuery {
  const start = url.indexOf('?');
  if (start < 0 || start === url.length - 1) return { values: {}, faults: [] };
  const values: Record<string, string> = {};
  const faults = new Map<string, Fault>();
  for (const [name, value] of new URLSearchParams(url.slice(start + 1))) {
    if (!known.has(name)) faults.set(name, fault(name, 'is not a parameter of this path'));
    else if (Object.hasOwn(values, name)) faults.set(name, fault(name, 'may be given once'));
    else values[name] = value;
    if (faults.size === MAX_FAULTS) break;
  }
  return { values, faults: [...faults.values()] };
}

function fault(name: string, detail: string): Fault {
  return { in: 'query', pointer: `/${escapePointer(name)}`, detail };
}

/** One token of an RFC 6901 pointer. */
export function escapePointer(token: string): string {
  return token.replaceAll('~', '~0').replaceAll('/', '~1');
}
