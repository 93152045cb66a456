import type { AppendUnit } from '@sealgate/ledger-port';
import type { KnownUnit } from './fabric-ledger.ts';

const KIND = 'sealgate.unit.v1';

/** What the journal keeps of a unit, for whoever learns its outcome after its caller has left. */
export function writeUnitNote({ network, channel, note, records }: AppendUnit): string {
  return JSON.stringify([KIND, network, channel, note, records[0]?.id ?? '']);
}

/** Undefined for a note that somebody else wrote. */
export function readUnitNote(text: string | undefined): { unit: KnownUnit; firstId: string } | undefined {
  if (text?.startsWith(`["${KIND}",`) !== true) return undefined;
  const [, network, channel, note, firstId] = JSON.parse(text) as [string, string, string, string, string];
  return { unit: { network, channel, note }, firstId };
}
