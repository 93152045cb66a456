import { logName, parseLogName, receiptLogProof } from '@sealgate/envelope';
import { AppError } from '@sealgate/errors';
import { DeclaredLoss, enumOf, isKnownTag, named, routeFor, type Reply, type Route } from '@sealgate/http';
import { sha256 } from '@sealgate/json';
import { LOG_PROOF_TYPE } from '@sealgate/merkle';
import { Type } from '@sinclair/typebox';
import type { PeerCaller } from '../domain/caller.ts';
import type { Mappings } from '../domain/mapping.ts';
import { asked, proveRecord, type PublicLog } from '../domain/read-assets.ts';
import { bundleForms, EpochName, Name, OF_CHANNEL, OF_EPOCH, tileForms } from './log-paths.ts';
import { Proof, Receipt } from './schemas.ts';

const route = routeFor<PeerCaller>();
const base = { method: 'get', permit: 'authenticated', charge: 1, idempotency: 'none' } as const;
/** What hashes and signatures are read by. */
const ofLog = { ...base, otherAccess: ['Bearer', 'nobody'] } as const;
const Logs = named(
  'ChannelLogs',
  Type.Object({
    channel: Type.String(),
    epoch: Type.Integer({ description: 'The one that the channel goes on in; 0 before its first declared loss.' }),
    origin: Type.String({ description: 'Of its checkpoints.' }),
    path: Type.String({ description: 'Where its checkpoint and its tiles are.' }),
    logs: Type.Array(
      named(
        'ChannelLog',
        Type.Object({
          epoch: Type.Integer(),
          origin: Type.String(),
          path: Type.String(),
          declaration: Type.Union([DeclaredLoss, Type.Null()]),
        }),
      ),
      { description: 'Oldest first. One that ended shows for ever the checkpoint that it ended with.' },
    ),
  }),
);

const ProvedDeclaration = named(
  'ProvedDeclaration',
  Type.Object({
    statement: DeclaredLoss,
    inclusionPath: Type.Array(Type.String(), { description: 'From entry 0 up.' }),
    treeSize: Type.Integer(),
    checkpoint: Type.String({ description: 'A signed note (C2SP tlog-checkpoint).' }),
  }),
);

const FOREVER = 'max-age=31536000, immutable';
/** Of the right edge, which servers of static files remove once it is full: as long as a monitor may take for a round. */
const SHORT = 'max-age=60';
const requestHeaders = { 'If-None-Match': 'ETags that are known already; 304 where one is current.' };
const headers = {
  ETag: 'Strong: over the bytes.',
  'Cache-Control': '`public` where no key is needed, else `private`.',
};
const weakHeaders = { ...headers, ETag: 'Weak: over the bytes as they are before compression.' };
const notModified = { description: 'Unchanged since the ETag that was sent.', headers };

/** `log` undefined: there is nothing. `mappings`: of which channels and types this peer shows records. */
export interface PublicLogPorts {
  readonly log: PublicLog | undefined;
  readonly mappings: Mappings;
  /** Whether no key is needed for the log of a channel, so that what is kept of an answer may be shown to everybody. */
  isOpen(channel: string): boolean;
  /** Whether whoever may read the log of a channel may read its entries, too. */
  showsEntries(channel: string): boolean;
}

/**
 * What an outsider checks by, as C2SP tlog-checkpoint and tlog-tiles lay it out. Checkpoints and tiles are hashes, and there
 * for every channel; entries hold id, type and owner of every record, and are there where `showsEntries` says so; a receipt
 * holds what its record was salted with, and is there for what the mappings serve.
 */
export function publicLogRoutes({ log, mappings, isOpen, showsEntries }: PublicLogPorts): Route<PeerCaller>[] {
  // Caches that are shared know Authorization, and not the header of our key.
  const cachedBy = (channel: string, howLong: string) => `${isOpen(channel) ? 'public' : 'private'}, ${howLong}`;
  const logs = route({
    ...ofLog,
    path: '/ledger/:channel',
    operationId: 'getLogs',
    summary: 'The logs of a channel: after a declared loss it goes on in another one',
    params: Type.Object({ channel: Name }),
    responses: { 200: { description: 'The logs.', schema: Logs } },
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
    ...ofLog,
    path: '/ledger/:channel/:epoch/declaration',
    operationId: 'getDeclaration',
    summary: 'What was lost before this epoch, as the offline verifier takes it',
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
      summary: (of: string) => `Which keys sign the checkpoints${of}, signed by the root key of the ledger`,
      description:
        'A signed note. Its text: `sealgate-log-keys/v1`, the origin, and a line for each key: `key <vkey> from <time>`, for a ' +
        'key from before an exchange of the root key with `until <time>`. The first signs now.',
      read: (from: PublicLog, of: string) => from.logKeys(of),
    },
  ].flatMap(({ name, operationId, summary, read, ...more }) =>
    [OF_CHANNEL, OF_EPOCH].map(({ path, params, suffix, of }) =>
      route({
        ...ofLog,
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
      ...ofLog,
      path: `${place.path}/tile/*tile`,
      operationId: `getTile${place.suffix}`,
      summary: `Hashes of the Merkle tree${place.of} (C2SP tlog-tiles)`,
      description:
        'The index of a tile is written in groups of three digits, all but the last behind an `x`: 1234067 is ' +
        '`x001/x234/067`. Larger ones than a thousand million go on in the same way.',
      describedAs: tileForms(place),
      params: Type.Object({ ...place.params, tile: Name }),
      requestHeaders,
      responses: {
        200: {
          description: 'Hashes of 32 bytes: 256 of a full tile, else as many as its width.',
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
      ...ofLog,
      path: `${place.path}/tile/entries/*bundle`,
      operationId: `getEntries${place.suffix}`,
      summary: `What the leaves of the Merkle tree${place.of} are hashed over (C2SP tlog-tiles)`,
      description:
        'Each entry behind its length in 16 bits, big-endian: canonical JSON of `{v, network, channel, id, type, owner, ' +
        'dataHash, transactionId, at}`. Served where the mappings of this peer serve every record of the channel, or ' +
        'where its log is public; else 404. The index is written as that of a tile.',
      describedAs: bundleForms(place),
      params: Type.Object({ ...place.params, bundle: Name }),
      requestHeaders,
      responses: {
        200: {
          description: '256 entries of a full bundle, else as many as its width.',
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
        const bundle = found(await asked(found(log).entries(of, `tile/entries/${rest}`)));
        const cacheControl = cachedBy(channel, keptFor(rest));
        const caching = { 'Cache-Control': cacheControl, ifNoneMatch: context.header('if-none-match') };
        return unlessKnown({ body: bundle, contentType: 'application/octet-stream', compresses: true }, caching);
      },
    }),
  );
  const proof = route({
    ...base,
    path: '/ledger/:channel/records/:id/proof',
    operationId: 'getProof',
    summary: 'A receipt and its inclusion proof, as the offline verifier takes them',
    description:
      'Of records whose channel and type a mapping of this peer serves; every other one is 404. As a C2SP tlog-proof file, ' +
      `by \`format\` or by Accept: ${LOG_PROOF_TYPE}, it holds the entry of the record and not its salt.`,
    params: Type.Object({ channel: Name, id: Name }),
    query: Type.Object({ format: Type.Optional(enumOf('ProofFormat', ['json', 'tlog-proof'])) }),
    requestHeaders: { Accept: `${LOG_PROOF_TYPE}: a tlog-proof file, unless \`format\` says otherwise.` },
    responses: {
      200: {
        description: 'The proof.',
        otherTypes: [LOG_PROOF_TYPE],
        headers: { Vary: '`Accept`.' },
        schema: named('ProvedRecord', Type.Object({ receipt: Receipt, proof: Proof })),
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

/** The path of a partial tile or bundle names its width, so its bytes never change either; but it need not stay. */
const keptFor = (path: string): string => (path.includes('.p/') ? SHORT : FOREVER);

/** Nobody names this type who does not want it: whatever else is named, and however much it is liked, it is sent. */
function asksForFile(accept: string | undefined): boolean {
  const named = accept?.split(',').find((range) => range.split(';', 1)[0]?.trim().toLowerCase() === LOG_PROOF_TYPE);
  return named !== undefined && !/;\s*q=0(?:\.0*)?\s*(?:;|$)/i.test(named);
}

/** 304 to whoever has these very bytes. What is compressed has a weak ETag, since a strong one would name other bytes. */
function unlessKnown(
  reply: { readonly body: string | Buffer; readonly contentType: string; readonly compresses?: true },
  { ifNoneMatch, ...caching }: { readonly 'Cache-Control': string; readonly ifNoneMatch: string | undefined },
): Reply {
  const strong = `"${sha256(reply.body).toString('base64url')}"`;
  const headers = { ETag: reply.compresses === true ? `W/${strong}` : strong, ...caching };
  if (isKnownTag(ifNoneMatch, headers.ETag)) return { status: 304, headers };
  return { status: 200, ...reply, headers };
}

/** The name of the log that a path names. @throws AppError NOT_FOUND. */
function logOf({ channel, epoch }: { readonly channel: string; readonly epoch?: string }): string {
  const log = epoch === undefined ? channel : `${channel}/${epoch}`;
  if (channel.includes('/') || parseLogName(log) === undefined) throw new AppError('NOT_FOUND', NOTHING);
  return log;
}

const NOTHING = 'The log holds nothing of that name.';

function found<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new AppError('NOT_FOUND', NOTHING);
  return value;
}
