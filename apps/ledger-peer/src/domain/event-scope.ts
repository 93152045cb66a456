import { AppError, type ErrorCode, type Fault } from '@sealgate/errors';
import type { EventKind, SourceEvent } from './ledger-event.ts';
import type { Mappings } from './mapping.ts';

export interface EventFilter {
  readonly channel: string;
  /** Absent: all types that the mappings serve. */
  readonly types?: readonly string[] | undefined;
  /** Absent: all kinds. */
  readonly kinds?: readonly EventKind[] | undefined;
}

/** What of an event its reader may see; undefined: nothing. */
export type EventScope = (event: SourceEvent) => SourceEvent | undefined;

/**
 * What mappings serve of the events of a channel. A transaction whose assets are known is seen by its assets of served
 * types; one of a third-party contract whose assets are not known by its chaincode.
 *
 * @throws AppError UNKNOWN_CHANNEL if no mapping leads to the channel, UNKNOWN_CHAINCODE if none of a type does; its fault
 *   is at `/channel`, or at the type of a query or the types of a body.
 */
export function eventScope(
  mappings: Mappings,
  { channel, types, kinds }: EventFilter,
  where: 'query' | 'body' = 'query',
): EventScope {
  const targets = mappings.targets.filter((target) => target.channel === channel);
  if (targets.length === 0)
    throw refusal('UNKNOWN_CHANNEL', { in: where, pointer: '/channel', detail: 'No mapping serves this channel.' });
  const index = types?.findIndex((type) => mappings.find(type)?.channel !== channel) ?? -1;
  if (index >= 0) {
    const pointer = where === 'query' ? '/type' : `/types/${index}`;
    const detail = 'For this type no chaincode of this channel is mapped.';
    throw refusal('UNKNOWN_CHAINCODE', { in: where, pointer, detail });
  }
  const wanted = types === undefined ? targets : types.map((type) => mappings.find(type)!);
  const thirdParty = new Set(wanted.flatMap((target) => (target.shape.kind === 'records' ? [] : [target.chaincode])));
  return (event) => {
    if (kinds?.includes(event.kind) === false) return undefined;
    if (event.assets === undefined) return thirdParty.has(event.chaincode) ? event : undefined;
    const assets = event.assets.filter(
      ({ type }) => (types?.includes(type) ?? true) && mappings.find(type)?.channel === channel,
    );
    return assets.length === 0 ? undefined : { ...event, assets };
  };
}

const refusal = (code: ErrorCode, fault: Fault): AppError => new AppError(code, fault.detail, { faults: [fault] });
