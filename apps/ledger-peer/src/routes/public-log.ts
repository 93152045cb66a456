import { AppError } from '@sealgate/errors';
import { lineOfText, routeFor, type Route } from '@sealgate/http';
import { Type } from '@sinclair/typebox';
import type { PeerCaller } from '../domain/caller.ts';
import { asked, type PublicLog } from '../domain/read-assets.ts';
import { Proof, Receipt } from './schemas.ts';

const route = routeFor<PeerCaller>();
const base = { method: 'get', permit: 'authenticated', charge: 1, idempotency: 'none' } as const;
const Name = lineOfText({ min: 1, max: 1024 });

/** A full tile is never another one; the key that it was asked with keeps it out of shared caches. */
const FOR_EVER = { 'Cache-Control': 'private, max-age=31536000, immutable' };

/** What an outsider checks by, as C2SP tlog-checkpoint and tlog-tiles lay it out. `log` undefined: there is nothing. */
export function publicLogRoutes({ log }: { readonly log: PublicLog | undefined }): Route<PeerCaller>[] {
  const checkpoint = route({
    ...base,
    path: '/ledger/:channel/checkpoint',
    operationId: 'getCheckpoint',
    summary: 'The newest signed checkpoint (C2SP tlog-checkpoint)',
    params: Type.Object({ channel: Name }),
    responses: { 200: { description: 'A signed note.', contentType: 'text/plain; charset=utf-8' } },
    errors: ['NOT_FOUND', 'LEDGER_UNAVAILABLE'],
    async handler({ params }) {
      const note = found(await asked(opened(log).checkpoint(params.channel)));
      return { status: 200, body: note, contentType: 'text/plain; charset=utf-8' };
    },
  });
  const tile = route({
    ...base,
    path: '/ledger/:channel/tile/*tile',
    operationId: 'getTile',
    summary: 'Hashes of the Merkle tree (C2SP tlog-tiles)',
    params: Type.Object({ channel: Name, tile: Name }),
    responses: { 200: { description: 'Up to 256 hashes of 32 bytes.', contentType: 'application/octet-stream' } },
    errors: ['NOT_FOUND', 'LEDGER_UNAVAILABLE'],
    async handler({ params }) {
      const { hashes, isFull } = found(await asked(opened(log).tile(params.channel, `tile/${params.tile}`)));
      const contentType = 'application/octet-stream';
      return { status: 200, body: hashes, contentType, ...(isFull ? { headers: FOR_EVER } : {}) };
    },
  });
  const proof = route({
    ...base,
    path: '/ledger/:channel/records/:id/proof',
    operationId: 'getProof',
    summary: 'A receipt and its inclusion proof, as the offline verifier takes them',
    params: Type.Object({ channel: Name, id: Name }),
    responses: { 200: { description: 'The proof.', schema: Type.Object({ receipt: Receipt, proof: Proof }) } },
    errors: ['NOT_FOUND', 'LEDGER_UNAVAILABLE'],
    async handler({ params }) {
      return { status: 200, body: found(await asked(opened(log).prove(params.channel, params.id))) };
    },
  });
  return [checkpoint, tile, proof];
}

function opened(log: PublicLog | undefined): PublicLog {
  return found(log);
}

function found<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new AppError('NOT_FOUND', 'The log holds nothing of that name.');
  return value;
}
