import { Findings, type Check } from './check.ts';
import type { KeyedWrites, Order } from './keyed-writes.ts';

/** What a sender was told to be not written was not written by that attempt. Needs the rows: see acknowledged-writes. */
export function notWritten(writes: KeyedWrites): Check {
  const findings = new Findings('nobody was told "not written" of what was written');
  return {
    close() {
      for (const order of writes.orders.values()) findings.judge(breachOf(order));
      return Promise.resolve(findings.verdict());
    },
  };
}

function breachOf({ name, written, originals, unknown, refused, found, act }: Order): string | undefined {
  // An attempt of unknown outcome may have written it.
  if (unknown > 0) return undefined;
  const told = refused === undefined ? undefined : `line ${refused.number}: ${name} was told ${refused.code}`;
  if (written === 0 && found > 0) return `${told ?? name}, and its record is there`;
  if (written > 0 && originals === 0 && act !== 'sync')
    return `${told ?? name}, and all who were told that it is written were told of an earlier attempt`;
  return undefined;
}
