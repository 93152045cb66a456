import { auditEventHash } from '@sealgate/envelope';
import type { AuditHead, AuditLink, AuditProblem } from '@sealgate/envelope';
import type { JsonValue } from '@sealgate/json';
import { isObject, UnreadableError } from './shape.ts';

/** An item of an export. */
export interface ExportedEvent {
  readonly id: string;
  readonly at: string;
  readonly where: string;
  readonly problem: AuditProblem | null;
  readonly link: AuditLink | null;
  readonly hash: string | null;
}

/** What is wrong with the chain of an export. */
interface LinkFault {
  readonly step: 'origin' | 'gap';
  readonly detail: string;
  readonly where: string;
}

const SENTENCES: Readonly<Record<AuditProblem, string>> = {
  no_mac: 'has no MAC: no process of the surface wrote it, or one of a version before events had one',
  wrong_mac: 'is not what a process of the surface wrote: its MAC is of something else',
  unknown_secret:
    'has a MAC of a server secret that the exporting process did not have, and no newer event vouches for it',
  unreadable: 'holds a value that cannot be shown, and is not what a process of the surface wrote',
};

/** Numbers looked at below a missing event. */
const MOST_BETWEEN = 100_000;

/** Reads the members of an item that its place in the chain needs. Throws UnreadableError. */
export function exportedEvent(item: JsonValue, surface: string, where: string): ExportedEvent {
  if (!isObject(item) || typeof item['id'] !== 'string' || typeof item['at'] !== 'string')
    throw new UnreadableError(`${where} has an item without id and time.`);
  const { id, at } = item;
  const problem = item['problem'] ?? null;
  const link = item['link'] ?? null;
  const isKnown = problem === null || (typeof problem === 'string' && Object.hasOwn(SENTENCES, problem));
  if (!isKnown || !(link === null || isLink(link)))
    throw new UnreadableError(`${where}: event ${id} has a link or a problem of another form.`);
  const place = link as unknown as AuditLink | null; // Checked above.
  const hash = place === null ? null : hashOf(item, surface, place);
  // An export of a version before events had a MAC has neither member.
  const told = problem ?? (link === null ? 'no_mac' : null);
  return { id, at, where, link: place, hash, problem: told as AuditProblem | null };
}

const isLink = (link: JsonValue): boolean =>
  isObject(link) &&
  isPlace(link) &&
  Array.isArray(link['heads']) &&
  link['heads'].every(
    (head) => isObject(head) && isPlace(head) && typeof head['at'] === 'string' && typeof head['hash'] === 'string',
  );

const isPlace = ({ lane, seq }: { readonly [member: string]: JsonValue }): boolean =>
  Number.isSafeInteger(lane) && Number.isSafeInteger(seq);

function hashOf(item: { readonly [member: string]: JsonValue }, surface: string, link: AuditLink): string | null {
  const texts = [item['actor'], item['action'], item['resource'], item['resourceId'] ?? item['resource_id']];
  if (!texts.every((text) => typeof text === 'string')) return null;
  const [actor = '', action = '', resource = '', resourceId = ''] = texts;
  const requestId = item['requestId'] ?? item['request_id'] ?? null;
  if (requestId !== null && typeof requestId !== 'string') return null;
  const content = { actor, action, resource, resourceId, requestId, detail: item['detail'] ?? null };
  try {
    return auditEventHash(surface, { id: String(item['id']), at: new Date(String(item['at'])), ...content }, link);
  } catch {
    return null;
  }
}

/**
 * Names the events that no process of the surface wrote, and those that are missing before others. The export says of each
 * event whether its MAC is right; its place is checked here: each names the one before in its lane and the newest of other
 * lanes, so that within the period all of them are there, but for newest ones that nothing followed.
 */
export function linkFaults(
  events: readonly ExportedEvent[],
  { from, to }: { readonly from: string | null; readonly to: string },
): LinkFault[] {
  const isOwn = ({ problem, hash }: ExportedEvent): boolean =>
    hash !== null && (problem ?? 'unknown_secret') === 'unknown_secret';
  const own = events.filter(isOwn);
  const strangers = events.filter((event) => !isOwn(event));
  const faults = strangers.map(origin);
  const lanes: Lanes = new Map();
  for (const event of own) {
    const { lane, seq } = event.link!;
    const places = lanes.get(lane) ?? lanes.set(lane, new Map()).get(lane)!;
    const there = places.get(seq);
    if (there === undefined) places.set(seq, event);
    else
      faults.push(
        gap(`Events ${there.id} and ${event.id} are both number ${seq} of lane ${lane}: it was set back.`, event),
      );
  }
  const named = new Set(own.flatMap(({ link }) => link!.heads.map(placeOf)));
  /** Places that were reported, or whose event was, since it is not as it was written. */
  const told = new Set(strangers.flatMap(({ link }) => (link === null ? [] : [placeOf(link)])));
  const isWithin = ({ at }: AuditHead): boolean => (from === null || at >= from) && at < to;
  for (const event of own) {
    for (const head of event.link!.heads) {
      const places: ReadonlyMap<number, ExportedEvent> = lanes.get(head.lane) ?? new Map();
      const found = places.get(head.seq);
      if (found?.hash?.startsWith(head.hash) === true || !isWithin(head) || told.has(placeOf(head))) continue;
      if (found === undefined) faults.push(missing(event, head, { places, from, told }));
      else faults.push(gap(`Event ${found.id} is not the one that event ${event.id} followed.`, event));
      told.add(placeOf(head));
    }
  }
  for (const event of own) {
    const fault = severed(event, { lanes, from, told, named });
    if (fault !== undefined) faults.push(fault);
  }
  return [...faults, ...unvouched(own, lanes).map(origin)];
}

/**
 * An event that names none before it in its lane: somebody changed the end of the lane, so that nothing binds what was
 * before. After a secret has gone that happens too, but then others name the one before.
 */
function severed(event: ExportedEvent, { lanes, from, told, named }: Chained): LinkFault | undefined {
  const { lane, seq, heads } = event.link!;
  const before = { lane, seq: seq - 1 };
  if (seq === 1 || heads.some((head) => head.lane === lane) || told.has(placeOf(before))) return undefined;
  const places = lanes.get(lane) ?? new Map<number, ExportedEvent>();
  const found = places.get(before.seq);
  if (found === undefined) {
    const isOfBefore = from !== null && ![...places.keys()].some((number) => number < seq);
    return isOfBefore ? undefined : missing(event, before, { places, from, told });
  }
  if (named.has(placeOf(before))) return undefined;
  return gap(`Event ${event.id} does not follow event ${found.id}, which was before it in lane ${lane}.`, event);
}

interface Chained extends Omit<Looked, 'places'> {
  readonly lanes: Lanes;
  /** Places that events name as those before them. */
  readonly named: ReadonlySet<string>;
}
type Lanes = Map<number, Map<number, ExportedEvent>>;

type Place = Pick<AuditHead, 'lane' | 'seq'>;

const placeOf = ({ lane, seq }: Place): string => `${lane} ${seq}`;

/** The event of a place is missing, and with it those between it and the newest older one that is there. */
function missing({ id, where }: ExportedEvent, { lane, seq }: Place, { places, from, told }: Looked): LinkFault {
  const isTold = (number: number): boolean => told.has(placeOf({ lane, seq: number }));
  let first = seq;
  while (first > 1 && seq - first < MOST_BETWEEN && !places.has(first - 1) && !isTold(first - 1)) first -= 1;
  // Older ones may be of the time before the period.
  if (first === 1 && from !== null) first = seq;
  for (let number = first; number < seq; number += 1) told.add(placeOf({ lane, seq: number }));
  const which = first === seq ? `Event ${seq} of lane ${lane} is` : `Events ${first} to ${seq} of lane ${lane} are`;
  return { step: 'gap', detail: `${which} missing: event ${id} followed ${first === seq ? 'it' : 'them'}.`, where };
}

interface Looked {
  /** The events of the lane that are there. */
  readonly places: ReadonlyMap<number, ExportedEvent>;
  readonly from: string | null;
  /** Places that were reported. */
  readonly told: Set<string>;
}

/** Events of a secret that is gone for which no event with a right MAC vouches, directly or through others. */
function unvouched(own: readonly ExportedEvent[], lanes: Lanes): ExportedEvent[] {
  const vouched = new Set<ExportedEvent>();
  const vouching = own.filter(({ problem }) => problem === null);
  for (let event = vouching.pop(); event !== undefined; event = vouching.pop()) {
    for (const { lane, seq, hash } of event.link!.heads) {
      const found = lanes.get(lane)?.get(seq);
      if (found?.problem !== 'unknown_secret' || vouched.has(found) || found.hash?.startsWith(hash) !== true) continue;
      vouched.add(found);
      vouching.push(found);
    }
  }
  return own.filter((event) => event.problem === 'unknown_secret' && !vouched.has(event));
}

const gap = (detail: string, { where }: ExportedEvent): LinkFault => ({ step: 'gap', detail, where });
const origin = ({ id, problem, where }: ExportedEvent): LinkFault => ({
  step: 'origin',
  detail: `Event ${id} ${SENTENCES[problem ?? 'no_mac']}.`,
  where,
});
