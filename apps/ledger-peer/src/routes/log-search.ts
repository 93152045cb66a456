import { logName } from '@sealgate/envelope';
import { AppError } from '@sealgate/errors';
import { routeFor, type Route } from '@sealgate/http';
import { Type, type Static } from '@sinclair/typebox';
import { ANYBODY, type PeerCaller } from '../domain/caller.ts';
import { FoundEntry, LogOverview, PublishedLogs, type EntryWanted, type PublicLog } from '../domain/public-log.ts';
import { asked } from '../domain/read-assets.ts';
import { LOGS_PATH, Name } from './log-paths.ts';

const route = routeFor<PeerCaller>();
/** A search reads the database for each caller; tiles and checkpoints come from memory. */
const SEARCH_COST = 10;
const base = { method: 'get', looks: true, permit: 'authenticated', idempotency: 'none' } as const;
const NOTHING = 'The log has nothing with that name.';

const digits = (description: string) =>
  Type.Unsafe<string>({ type: 'string', pattern: '^(0|[1-9][0-9]{0,14})$', description, examples: ['7'] });
const Wanted = Type.Object(
  {
    id: Type.Optional({ ...Name, description: 'The whole id of a record.' }),
    index: Type.Optional(digits('A leaf, from 0.')),
    epoch: Type.Optional(digits('The log of `index`, after a declared loss; default: the first one.')),
    leafHash: Type.Optional(Type.String({ pattern: '^[0-9a-f]{64}$', description: 'The hash of a leaf.' })),
  },
  { additionalProperties: false },
);

interface LogSearchPorts {
  readonly log: PublicLog | undefined;
  /** Whether callers that may read the log of a channel may also read its entries. */
  showsEntries(channel: string): boolean;
  /** The channels that somebody named as public. A peer without keys is open to its network, and not to strangers. */
  readonly published: ReadonlySet<string>;
}

/**
 * What a person looks for in a log whose entries are shown: one entry, by what only its holder knows of it, and how the
 * log grew. The answers have less than its entries: no id, type or owner; and never a salt or content.
 */
export function logSearchRoutes({ log, showsEntries, published }: LogSearchPorts): Route<PeerCaller>[] {
  const shown = (channel: string, { familyId }: PeerCaller): PublicLog => {
    const isShown = published.has(channel) || (familyId !== ANYBODY && showsEntries(channel));
    if (log === undefined || !isShown) throw new AppError('NOT_FOUND', NOTHING);
    return log;
  };
  const list = route({
    ...base,
    charge: 1,
    path: LOGS_PATH,
    operationId: 'listPublicLogs',
    summary: 'The logs that everybody may read: the channels in PUBLIC_LOG',
    responses: { 200: { description: 'The logs.', schema: PublishedLogs } },
    errors: [],
    handler: () =>
      Promise.resolve({ status: 200, body: { logs: [...published].toSorted().map((channel) => ({ channel })) } }),
  });
  const entry = route({
    ...base,
    charge: SEARCH_COST,
    path: '/ledger/:channel/entry',
    operationId: 'findEntry',
    summary: 'Find one entry of a log by its id, its index or its leaf hash, with its proof',
    description:
      'Exactly one of `id`, `index` and `leafHash`. The answer says where the entry is and when it was written, and proves ' +
      'that it is there; it has no content, salt, id, type or owner. Of channels as in `getLogOverview`. An entry is found ' +
      'once a published checkpoint covers it, by its leaf hash up to a second later.',
    params: Type.Object({ channel: Name }),
    query: Wanted,
    responses: { 200: { description: 'The entry.', schema: FoundEntry } },
    errors: ['NOT_FOUND', 'LEDGER_UNAVAILABLE'],
    async handler({ params: { channel }, query, caller }) {
      const found = await asked(shown(channel, caller).find(channel, wantedOf(query)));
      if (found === undefined) throw new AppError('NOT_FOUND', 'The log has no such entry.');
      return { status: 200, body: { at: found.at ?? null, proof: found.proof } };
    },
  });
  const overview = route({
    ...base,
    charge: 1,
    path: '/ledger/:channel/overview',
    operationId: 'getLogOverview',
    summary: 'The logs of a channel with their newest checkpoints, and how it grew',
    description:
      'The growth are the times of at most 49 records at equal distances. For channels whose entries are served to callers ' +
      'with a key, and to everybody where PUBLIC_LOG names them.',
    params: Type.Object({ channel: Name }),
    responses: { 200: { description: 'The overview.', schema: LogOverview } },
    errors: ['NOT_FOUND', 'LEDGER_UNAVAILABLE'],
    async handler({ params: { channel }, caller }) {
      const from = shown(channel, caller);
      const [all, growth] = await Promise.all([asked(from.logs(channel)), asked(from.growth(channel))]);
      const logs = all.map(async (one) => ({
        ...one,
        checkpoint: (await asked(from.checkpoint(logName(channel, one.epoch)))) ?? null,
      }));
      return { status: 200, body: { channel, logs: await Promise.all(logs), growth: [...growth] } };
    },
  });
  return [list, entry, overview];
}

/** @throws AppError INVALID_REQUEST */
function wantedOf({ id, index, epoch, leafHash }: Static<typeof Wanted>): EntryWanted {
  const given = [id, index, leafHash].filter((one) => one !== undefined);
  if (given.length !== 1 || (epoch !== undefined && index === undefined))
    throw new AppError('INVALID_REQUEST', 'Exactly one of id, index (with its epoch) and leafHash is needed.');
  if (id !== undefined) return { id };
  if (leafHash !== undefined) return { leafHash: Buffer.from(leafHash, 'hex') };
  return { place: { index: Number(index), ...(Number(epoch ?? 0) > 0 && { epoch: Number(epoch) }) } };
}
