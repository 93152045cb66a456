import { logName, parseLogName, receiptLogProof } from '@sealgate/envelope';
import { AppError } from '@sealgate/errors';
import { enumOf, isKnownTag, routeFor, type Reply, type Route } from '@sealgate/http';
import { sha256 } from '@sealgate/json';
import { LOG_PROOF_TYPE } from '@sealgate/merkle';
import { Type } from '@sinclair/typebox';
import type { PeerCaller } from '../domain/caller.ts';
import type { Mappings } from '../domain/mapping.ts';
import { ChannelLogs, ProvedDeclaration, ProvedRecord, type PublicLog } from '../domain/public-log.ts';
import { asked, proveRecord } from '../domain/read-assets.ts';
import { bundleForms, EpochName, Name, OF_CHANNEL, OF_EPOCH, tileForms } from './log-paths.ts';

const route = routeFor<PeerCaller>();
const base = { method: 'get', looks: true, permit: 'authenticated', charge: 1, idempotency: 'none' } as const;

const FOREVER = 'max-age=31536000, immutable';
/**
 * A partial tile at the right edge; static file servers remove it once the tile is full. As long as a monitor may take
 * for a round.
 */
const SHORT = 'max-age=60';
const requestHeaders = { 'If-None-Match': 'Known ETags; 304 if one is current.' };
const headers = {
  ETag: 'Strong: over the bytes.',
  'Cache-Control': '`public` if no key is needed, else `private`.',
};
const weakHeaders = { ...headers, ETag: 'Weak: over the uncompressed bytes.' };
const notModified = { description: 'Unchanged since the ETag in the request.', headers };

/** `log` undefined: no public log. `mappings`: channels and types whose records this peer shows. */
interface PublicLogPorts {
  readonly log: PublicLog | undefined;
  readonly mappings: Mappings;
  /** Whether the log of a channel needs no key, so that shared caches may keep its responses. */
  isOpen(channel: string): boolean;
  /** Whether callers that may read the log of a channel may also read its entries. */
  showsEntries(channel: string): boolean;
}

/**
 * The data for verifiers, laid out as in C2SP tlog-checkpoint and tlog-tiles. Checkpoints and tiles are hashes, and
 * served for every channel; entries contain id, type and owner of every record, and are served if `showsEntries` allows
 * it; a receipt contains the salt of its record, and is served for records that the mappings serve.
 */
export function publicLogRoutes({ log, mappings, isOpen, showsEntries }: PublicLogPorts): Route<PeerCaller>[] {
  const unlessKnown = conditionalReplies();
  // Shared caches respect Authorization, but do not know our key header.
  const cachedBy = (channel: string, howLong: string) => `${isOpen(channel) ? 'public' : 'private'}, ${howLong}`;
  const logs = route({
    ...base,
    path: '/ledger/:channel',
    operationId: 'getLogs',
    summary: 'List the logs of a channel: each declared loss starts a new one',
    params: Type.Object({ channel: Name }),
    responses: { 200: { description: 'The logs.', schema: ChannelLogs } },
    errors: ['NOT_FOUND', 'LEDGER_UNAVAILABLE'],
    async handler({ params: { channel } }) {
      const all = await asked(found(log).logs(channel));
      const newest = found(all.at(-1));
      const path = ({ epoch }: { epoch: number }) => `/ledger/${logName(channel, epoch)}`;
      const listed = all.map((one) => ({ ...one, path: path(one) }));
      return {
        status: 200,
        body: { channel, epoch: newest.epoch, origin: newest.origin, path: path(newest), logs: listed },
      };
    },
  });
  const declaration = route({
    ...base,
    path: '/ledger/:channel/:epoch/declaration',
    operationId: 'getDeclaration',
    summary: 'The declared loss before this epoch, for the offline verifier',
    params: Type.Object({ channel: Name, epoch: EpochName }),
    responses: { 200: { description: 'The statement and its proof.', schema: ProvedDeclaration } },
    errors: ['NOT_FOUND', 'LEDGER_UNAVAILABLE'],
    async handler({ params }) {
      const { channel, epoch } = found(parseLogName(logOf(params)));
      return { status: 200, body: found(await asked(found(log).declaration(channel, epoch))) };
    },
  });
  const notes = [
    {
      name: 'checkpoint',
      operationId: 'getCheckpoint',
      summary: (of: string) => `The newest signed checkpoint${of} (C2SP tlog-checkpoint)`,
      read: (from: PublicLog, of: string) => from.checkpoint(of),
    },
    {
      name: 'key',
      operationId: 'getLogKeys',
      summary: (of: string) => `The keys that sign the checkpoints${of}, signed by the root key of the ledger`,
      description:
        'A signed note. Its text: `sealgate-log-keys/v1`, the origin, and a line for each key: `key <vkey> from <time>`, for a ' +
        'key from before a rotation of the root key with `until <time>`. The first is the current one.',
      read: (from: PublicLog, of: string) => from.logKeys(of),
    },
  ].flatMap(({ name, operationId, summary, read, ...more }) =>
    [OF_CHANNEL, OF_EPOCH].map(({ path, params, suffix, of }) =>
      route({
        ...base,
        ...more,
        path: `${path}/${name}`,
        operationId: `${operationId}${suffix}`,
        summary: summary(of),
        params: Type.Object(params),
        requestHeaders,
        responses: {
          200: {
            description: 'A signed note.',
            contentType: 'text/plain; charset=utf-8',
            schema: Type.String(),
            headers,
          },
          304: notModified,
        },
        errors: ['NOT_FOUND', 'LEDGER_UNAVAILABLE'],
        async handler(context) {
          const note = found(await asked(read(found(log), logOf(context.params))));
          const cacheControl = cachedBy(context.params.channel, 'no-cache');
          const caching = { 'Cache-Control': cacheControl, ifNoneMatch: context.header('if-none-match') };
          return unlessKnown({ body: note, contentType: 'text/plain; charset=utf-8' }, caching);
        },
      }),
    ),
  );
  const tiles = [OF_CHANNEL, OF_EPOCH].map((place) =>
    route({
      ...base,
      path: `${place.path}/tile/*tile`,
      operationId: `getTile${place.suffix}`,
      summary: `Hashes of the Merkle tree${place.of} (C2SP tlog-tiles)`,
      description:
        'The index of a tile is written in groups of three digits, all but the last prefixed with `x`: 1234067 is ' +
        '`x001/x234/067`. Larger indexes have further groups.',
      describedAs: tileForms(place),
      params: Type.Object({ ...place.params, tile: Name }),
      requestHeaders,
      responses: {
        200: {
          description: 'Hashes of 32 bytes: 256 in a full tile, else as many as its width.',
          contentType: 'application/octet-stream',
          schema: Type.Unsafe<Buffer>({ type: 'string', format: 'binary' }),
          headers,
        },
        304: notModified,
      },
      errors: ['NOT_FOUND', 'LEDGER_UNAVAILABLE'],
      async handler(context) {
        const { tile: rest, channel } = context.params;
        const hashes = found(await asked(found(log).tile(logOf(context.params), `tile/${rest}`)));
        const cacheControl = cachedBy(channel, keptFor(rest));
        const caching = { 'Cache-Control': cacheControl, ifNoneMatch: context.header('if-none-match') };
        return unlessKnown({ body: hashes, contentType: 'application/octet-stream' }, caching);
      },
    }),
  );
  const entries = [OF_CHANNEL, OF_EPOCH].map((place) =>
    route({
      ...base,
      path: `${place.path}/tile/entries/*bundle`,
      operationId: `getEntries${place.suffix}`,
      summary: `Preimages of the leaves of the Merkle tree${place.of} (C2SP tlog-tiles)`,
      description:
        'Each entry, prefixed with its length in 16 bits, big-endian: canonical JSON of `{v, network, channel, id, type, owner, ' +
        'dataHash, transactionId, at}`. Served if the mappings of this peer serve every record of the channel, or ' +
        'if its log is public; else 404. The index is written like that of a tile.',
      describedAs: bundleForms(place),
      params: Type.Object({ ...place.params, bundle: Name }),
      requestHeaders,
      responses: {
        200: {
          description: '256 entries in a full bundle, else as many as its width.',
          contentType: 'application/octet-stream',
          schema: Type.Unsafe<Buffer>({ type: 'string', format: 'binary' }),
          headers: weakHeaders,
        },
        304: { ...notModified, headers: weakHeaders },
      },
      errors: ['NOT_FOUND', 'LEDGER_UNAVAILABLE', 'RECORD_ARCHIVED'],
      async handler(context) {
        const { bundle: rest, channel } = context.params;
        const of = logOf(context.params);
        if (!showsEntries(channel)) throw new AppError('NOT_FOUND', NOTHING);
        const { bytes, isKept } = found(await asked(found(log).entries(of, `tile/entries/${rest}`)));
        const cacheControl = cachedBy(channel, keptFor(rest));
        const ifNoneMatch = context.header('if-none-match');
        // A part of a bundle is cut out for each answer, so it would be compressed for each.
        const compression = isKept ? { compresses: true as const } : {};
        return unlessKnown(
          { body: bytes, contentType: 'application/octet-stream', ...compression },
          { 'Cache-Control': cacheControl, ifNoneMatch, isWeak: true },
        );
      },
    }),
  );
  const proof = route({
    ...base,
    path: '/ledger/:channel/records/:id/proof',
    operationId: 'getProof',
    summary: 'A receipt and its inclusion proof, for the offline verifier',
    description:
      'For records whose channel and type a mapping of this peer serves; others are 404. As a C2SP tlog-proof file, ' +
      `by \`format\` or by Accept: ${LOG_PROOF_TYPE}, it contains the entry of the record and not its salt.`,
    params: Type.Object({ channel: Name, id: Name }),
    query: Type.Object({ format: Type.Optional(enumOf('ProofFormat', ['json', 'tlog-proof'])) }),
    requestHeaders: { Accept: `${LOG_PROOF_TYPE}: a tlog-proof file, unless \`format\` says otherwise.` },
    responses: {
      200: {
        description: 'The proof.',
        otherTypes: [LOG_PROOF_TYPE],
        headers: { Vary: '`Accept`.' },
        schema: ProvedRecord,
      },
    },
    errors: ['NOT_FOUND', 'LEDGER_UNAVAILABLE', 'RECORD_ARCHIVED'],
    async handler(context) {
      const { params, query } = context;
      const proved = found(await proveRecord({ log: found(log), mappings }, params.channel, params.id));
      const headers = { Vary: 'Accept' };
      const isFile = query.format === undefined ? asksForFile(context.header('accept')) : query.format === 'tlog-proof';
      if (!isFile) return { status: 200, body: proved, headers, holdsSecret: true };
      return { status: 200, body: receiptLogProof(proved), contentType: `${LOG_PROOF_TYPE}; charset=utf-8`, headers };
    },
  });
  return [logs, ...notes, ...tiles, ...entries, declaration, proof];
}

/** The path of a partial tile or bundle contains its width, so its bytes never change either, but it may be removed. */
const keptFor = (path: string): string => (path.includes('.p/') ? SHORT : FOREVER);

/** The type is sent only if Accept names it, whatever else Accept names and with whatever weight. */
function asksForFile(accept: string | undefined): boolean {
  const named = accept?.split(',').find((range) => range.split(';', 1)[0]?.trim().toLowerCase() === LOG_PROOF_TYPE);
  return named !== undefined && !/;\s*q=0(?:\.0*)?\s*(?:;|$)/i.test(named);
}

/**
 * 304 if the client has these bytes. Entries have a weak ETag, because they may be compressed: a strong one would
 * identify other bytes. A Buffer that is sent again is hashed once.
 */
function conditionalReplies() {
  const tags = new WeakMap<Buffer, string>();
  const tagOf = (body: string | Buffer): string => {
    const tag = typeof body === 'string' ? undefined : tags.get(body);
    if (tag !== undefined) return tag;
    const made = `"${sha256(body).toString('base64url')}"`;
    if (typeof body !== 'string') tags.set(body, made);
    return made;
  };
  return (
    reply: { readonly body: string | Buffer; readonly contentType: string; readonly compresses?: true },
    { ifNoneMatch, isWeak, ...caching }: Caching,
  ): Reply => {
    const strong = tagOf(reply.body);
    const headers = { ETag: isWeak === true ? `W/${strong}` : strong, ...caching };
    if (isKnownTag(ifNoneMatch, headers.ETag)) return { status: 304, headers };
    return { status: 200, ...reply, headers };
  };
}

interface Caching {
  readonly 'Cache-Control': string;
  readonly ifNoneMatch: string | undefined;
  readonly isWeak?: true;
}

/** The name of the log in a path. @throws AppError NOT_FOUND. */
function logOf({ channel, epoch }: { readonly channel: string; readonly epoch?: string }): string {
  const log = epoch === undefined ? channel : `${channel}/${epoch}`;
  if (channel.includes('/') || parseLogName(log) === undefined) throw new AppError('NOT_FOUND', NOTHING);
  return log;
}

const NOTHING = 'The log has nothing with that name.';

function found<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new AppError('NOT_FOUND', NOTHING);
  return value;
}
