import { AppError } from '@sealgate/errors';
import { isKnownTag, lineOfText, routeFor, type DescribedPath, type Reply, type Route } from '@sealgate/http';
import { sha256 } from '@sealgate/json';
import { Type } from '@sinclair/typebox';
import type { PeerCaller } from '../domain/caller.ts';
import type { Mappings } from '../domain/mapping.ts';
import { asked, proveRecord, type PublicLog } from '../domain/read-assets.ts';
import { Proof, Receipt } from './schemas.ts';

const route = routeFor<PeerCaller>();
const base = { method: 'get', permit: 'authenticated', charge: 1, idempotency: 'none' } as const;
const Name = lineOfText({ min: 1, max: 1024 });

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
  const checkpoint = route({
    ...base,
    path: '/ledger/:channel/checkpoint',
    operationId: 'getCheckpoint',
    summary: 'The newest signed checkpoint (C2SP tlog-checkpoint)',
    params: Type.Object({ channel: Name }),
    requestHeaders,
    responses: {
      200: { description: 'A signed note.', contentType: 'text/plain; charset=utf-8', schema: Type.String(), headers },
      304: notModified,
    },
    errors: ['NOT_FOUND', 'LEDGER_UNAVAILABLE'],
    async handler(context) {
      const note = found(await asked(found(log).checkpoint(context.params.channel)));
      const caching = { 'Cache-Control': `${cachedBy}, no-cache`, ifNoneMatch: context.header('if-none-match') };
      return unlessKnown({ body: note, contentType: 'text/plain; charset=utf-8' }, caching);
    },
  });
  const tile = route({
    ...base,
    path: '/ledger/:channel/tile/*tile',
    operationId: 'getTile',
    summary: 'Hashes of the Merkle tree (C2SP tlog-tiles)',
    description:
      'The index of a tile is written in groups of three digits, all but the last behind an `x`: 1234067 is ' +
      '`x001/x234/067`. Larger ones than a thousand million go on in the same way.',
    describedAs: TILE_FORMS,
    params: Type.Object({ channel: Name, tile: Name }),
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
      const { channel, tile: rest } = context.params;
      const hashes = found(await asked(found(log).tile(channel, `tile/${rest}`)));
      // The path of a partial tile names its width, so its bytes never change either.
      const caching = { 'Cache-Control': `${cachedBy}, ${FOREVER}`, ifNoneMatch: context.header('if-none-match') };
      return unlessKnown({ body: hashes, contentType: 'application/octet-stream' }, caching);
    },
  });
  const proof = route({
    ...base,
    path: '/ledger/:channel/records/:id/proof',
    operationId: 'getProof',
    summary: 'A receipt and its inclusion proof, as the offline verifier takes them',
    description: 'Of records whose channel and type a mapping of this peer serves; every other one is 404.',
    params: Type.Object({ channel: Name, id: Name }),
    responses: { 200: { description: 'The proof.', schema: Type.Object({ receipt: Receipt, proof: Proof }) } },
    errors: ['NOT_FOUND', 'LEDGER_UNAVAILABLE'],
    async handler({ params }) {
      const body = found(await proveRecord({ log: found(log), mappings }, params.channel, params.id));
      return { status: 200, body, holdsSecret: true };
    },
  });
  return [checkpoint, tile, proof];
}

/** The paths of tiles by how many groups their index has, so that generated clients need no slash inside a parameter. */
const TILE_FORMS: readonly DescribedPath[] = [0, 1, 2].flatMap((further) => {
  const groups = Array.from({ length: further }, (_, at) => `x${at + 1}`);
  const path = ['/ledger/{channel}/tile/{level}', ...groups.map((group) => `{${group}}`), '{n}'].join('/');
  const params = {
    channel: Name,
    level: Type.Integer({ minimum: 0, maximum: 63 }),
    ...Object.fromEntries(groups.map((group) => [group, Type.String({ pattern: '^x[0-9]{3}$' })])),
    n: Type.String({ pattern: '^[0-9]{3}$', description: 'The last three digits of its index.' }),
  };
  const width = Type.Integer({ minimum: 1, maximum: 255, description: 'How many hashes it holds.' });
  const suffix = further === 0 ? '' : `Of${further + 1}Groups`;
  return [
    {
      path,
      operationId: `getTile${suffix}`,
      summary: 'A full tile of the Merkle tree (C2SP tlog-tiles)',
      params: Type.Object(params),
    },
    {
      path: `${path}.p/{width}`,
      operationId: `getPartialTile${suffix}`,
      summary: 'A partial tile of the Merkle tree (C2SP tlog-tiles)',
      params: Type.Object({ ...params, width }),
    },
  ];
});

/** 304 to whoever has these very bytes. */
function unlessKnown(
  { body, contentType }: { readonly body: string | Buffer; readonly contentType: string },
  { ifNoneMatch, ...caching }: { readonly 'Cache-Control': string; readonly ifNoneMatch: string | undefined },
): Reply {
  const headers = { ETag: `"${sha256(body).toString('base64url')}"`, ...caching };
  if (isKnownTag(ifNoneMatch, headers.ETag)) return { status: 304, headers };
  return { status: 200, body, contentType, headers };
}

function found<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new AppError('NOT_FOUND', 'The log holds nothing of that name.');
  return value;
}
