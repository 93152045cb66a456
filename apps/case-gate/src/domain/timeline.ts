import { canonicalHash, type JsonValue } from '@sealgate/json';
import type { TimelineEvent } from './case-record.ts';

export interface NewEvent {
  readonly event: string;
  readonly actor: string;
  readonly at: Date;
  /** Ids, hashes and codes; never references into the vault, and nothing of policy rules. */
  readonly data: { readonly [member: string]: JsonValue };
}

/** The event behind `previous`: its hash is SHA-256 over the canonical form of all its other members. */
export function chainEvent(
  previous: { readonly seq: number; readonly hash: string } | undefined,
  { event, actor, at, data }: NewEvent,
): TimelineEvent {
  const rest = {
    seq: (previous?.seq ?? 0) + 1,
    at: at.toISOString(),
    event,
    actor,
    data: data as JsonValue,
    prev_hash: previous?.hash ?? null,
  };
  return { ...rest, hash: canonicalHash(rest) };
}
