import { logName, parseLogName } from '@sealgate/envelope';
import { AppError } from '@sealgate/errors';
import {
  DeclaredLoss,
  isKnownTag,
  lineOfText,
  named,
  routeFor,
  type DescribedPath,
  type Reply,
  type Route,
} from '@sealgate/http';
import { sha256 } from '@sealgate/json';
import { Type } from '@sinclair/typebox';
import type { PeerCaller } from '../domain/caller.ts';
import type { Mappings } from '../domain/mapping.ts';
import { asked, proveRecord, type PublicLog } from '../domain/read-assets.ts';
import { Proof, Receipt } from './schemas.ts';

const route = routeFor<PeerCaller>();
const base = { method: 'get', permit: 'authenticated', charge: 1, idempotency: 'none' } as const;
const Name = lineOfText({ min: 1, max: 1024 });

const EpochName = lineOfText({ min: 2, max: 16 });

interface LogPlace {
  readonly path: '/ledger/:channel' | '/ledger/:channel/:epoch';
  readonly params: { readonly channel: typeof Name; readonly epoch?: typeof EpochName };
  readonly suffix: string;
  readonly of: string;
}

/** The log that a channel begins with, and those behind a declared loss, each with a path of its own: `/ledger/acme.main/e1`. */
const OF_CHANNEL: LogPlace = { path: '/ledger/:channel', params: { channel: Name }, suffix: '', of: '' };
const OF_EPOCH: LogPlace = {
  path: '/ledger/:channel/:epoch',
  params: { channel: Name, epoch: EpochName },
  suffix: 'OfEpoch',
  of: ' of an epoch, as `e1`',
};

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
const requestHeaders = { 'If-None-Match': 'ETags that are known already; 304 where one is current.' };
const headers = {
  ETag: 'Strong: over the bytes.',
  'Cache-Control': '`public` where no key is needed, else `private`.',
};
const notModified = { description: 'Unchanged since the ETag that was sent.', headers };

/** `log` undefined: there is nothing. `mappings`: of which channels and types this peer shows records. */
export interface PublicLogPorts {
  readonly log: PublicLog | undefined;
  readonly mappings: Mappings;
  /** Whether no key is needed, so that what is kept of an answer may be shown to everybody. */
  readonly isOpen: boolean;
}

/**
 * What an outsider checks by, as C2SP tlog-checkpoint and tlog-tiles lay it out. Checkpoints and tiles are hashes, and there
 * for every channel; a receipt holds what its record was salted with, and is there for what the mappings serve.
 */
export function publicLogRoutes({ log, mappings, isOpen }: PublicLogPorts): Route<PeerCaller>[] {
  // Caches that are shared know Authorization, and not the header of our key.
  const cachedBy = isOpen ? 'public' : 'private';
  const logs = route({
    ...base,
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
    ...base,
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
  const checkpoints = [OF_CHANNEL, OF_EPOCH].map(({ path, params, suffix, of }) =>
    route({
      ...base,
      path: `${path}/checkpoint`,
      operationId: `getCheckpoint${suffix}`,
      summary: `The newest signed checkpoint${of} (C2SP tlog-checkpoint)`,
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
        const note = found(await asked(found(log).checkpoint(logOf(context.params))));
        const caching = { 'Cache-Control': `${cachedBy}, no-cache`, ifNoneMatch: context.header('if-none-match') };
        return unlessKnown({ body: note, contentType: 'text/plain; charset=utf-8' }, caching);
      },
    }),
  );
  const tiles = [OF_CHANNEL, OF_EPOCH].map((place) =>
    route({
      ...base,
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
        const { tile: rest } = context.params;
        const hashes = found(await asked(found(log).tile(logOf(context.params), `tile/${rest}`)));
        // The path of a partial tile names its width, so its bytes never change either.
        const caching = { 'Cache-Control': `${cachedBy}, ${FOREVER}`, ifNoneMatch: context.header('if-none-match') };
        return unlessKnown({ body: hashes, contentType: 'application/octet-stream' }, caching);
      },
    }),
  );
  const proof = route({
    ...base,
    path: '/ledger/:channel/records/:id/proof',
    operationId: 'getProof',
    summary: 'A receipt and its inclusion proof, as the offline verifier takes them',
    description: 'Of records whose channel and type a mapping of this peer serves; every other one is 404.',
    params: Type.Object({ channel: Name, id: Name }),
    responses: {
      200: {
        description: 'The proof.',
        schema: named('ProvedRecord', Type.Object({ receipt: Receipt, proof: Proof })),
      },
    },
    errors: ['NOT_FOUND', 'LEDGER_UNAVAILABLE', 'RECORD_ARCHIVED'],
    async handler({ params }) {
      const body = found(await proveRecord({ log: found(log), mappings }, params.channel, params.id));
      return { status: 200, body, holdsSecret: true };
    },
  });
  return [logs, ...checkpoints, ...tiles, declaration, proof];
}

/** The paths of tiles by how many groups their index has, so that generated clients need no slash inside a parameter. */
const tileForms = (place: LogPlace): readonly DescribedPath[] =>
  [0, 1, 2].flatMap((further) => tileForm(place, further));

function tileForm(place: LogPlace, further: number): DescribedPath[] {
  const groups = Array.from({ length: further }, (_, at) => `x${at + 1}`);
  const log = place.path.replace(/:(\w+)/g, '{$1}');
  const path = [`${log}/tile/{level}`, ...groups.map((group) => `{${group}}`), '{n}'].join('/');
  const params = {
    ...place.params,
    level: Type.Integer({ minimum: 0, maximum: 63 }),
    ...Object.fromEntries(groups.map((group) => [group, Type.String({ pattern: '^x[0-9]{3}$' })])),
    n: Type.String({ pattern: '^[0-9]{3}$', description: 'The last three digits of its index.' }),
  };
  const width = Type.Integer({ minimum: 1, maximum: 255, description: 'How many hashes it holds.' });
  const suffix = `${place.suffix}${further === 0 ? '' : `Of${further + 1}Groups`}`;
  return [
    {
      path,
      operationId: `getTile${suffix}`,
      summary: `A full tile of the Merkle tree${place.of} (C2SP tlog-tiles)`,
      params: Type.Object(params),
    },
    {
      path: `${path}.p/{width}`,
      operationId: `getPartialTile${suffix}`,
      summary: `A partial tile of the Merkle tree${place.of} (C2SP tlog-tiles)`,
      params: Type.Object({ ...params, width }),
    },
  ];
}

/** 304 to whoever has these very bytes. */
function unlessKnown(
  { body, contentType }: { readonly body: string | Buffer; readonly contentType: string },
  { ifNoneMatch, ...caching }: { readonly 'Cache-Control': string; readonly ifNoneMatch: string | undefined },
): Reply {
  const headers = { ETag: `"${sha256(body).toString('base64url')}"`, ...caching };
  if (isKnownTag(ifNoneMatch, headers.ETag)) return { status: 304, headers };
  return { status: 200, body, contentType, headers };
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
