import assert from 'node:assert/strict';
import type { IncomingHttpHeaders } from 'node:http';
import type { AppError, ErrorCode } from '@sealgate/errors';
import { named, routeFor, utf8MediaType, type BodyRequest, type BodyShare, type Route } from '@sealgate/http';
import { defined } from '@sealgate/json';
import { Type } from '@sinclair/typebox';
import type { IngestCaller, LiveSource, SourceCaller } from '../domain/caller.ts';
import type { BodyForm } from '../domain/read-delivery.ts';
import type { TakeDelivery } from '../domain/take-delivery.ts';
import { servedAgain } from './ingest.ts';
import { RecordReceipt } from '../schemas.ts';

const route = routeFor<IngestCaller>();

const Delivered = named(
  'DeliveryAnswer',
  Type.Object({
    eventId: Type.String(),
    records: Type.Array(RecordReceipt, {
      description: 'One for each channel. Empty: a conflict, nothing was written.',
    }),
  }),
);

const Challenge = named(
  'DeliveryChallenge',
  Type.Object({ challenge: Type.String({ description: 'The challenge of a sender of the scheme slack.' }) }),
);

export interface HooksPorts {
  readonly takeDelivery: TakeDelivery;
  /** The largest body of any source. */
  readonly mostBytes: number;
  /** The largest body of this source that is read. */
  readonly readMaxBytes: (source: LiveSource) => number;
  readonly shareBody: (request: BodyRequest<SourceCaller>) => BodyShare;
  /** The 429 for any request to this path, unread, while too many recent ones were refused. */
  readonly refuseFlooded: (path: string) => AppError | undefined;
  /** Called with the code of every refusal on the path. */
  readonly onRefusal: (code: ErrorCode) => void;
}

/** `POST /hooks/{sourceId}`: a signed delivery. The guard looks up the source. */
export function hookRoutes(ports: HooksPorts): Route<IngestCaller>[] {
  const deliver = route({
    method: 'post',
    path: '/hooks/:sourceId',
    operationId: 'deliver',
    summary: 'Deliver a webhook to a source',
    description:
      'For webhook senders that sign what they send and cannot set our headers. The signature that the scheme of the ' +
      'source requires authenticates the sender; no key is needed. A delivery whose id was written before is answered ' +
      'with the first answer and `Idempotent-Replayed: true`. See the README of the surface.',
    tags: ['webhooks'],
    permit: 'byHandler',
    charge: 'byHandler',
    confirmsCaller: true,
    idempotency: 'of-content',
    query: 'ignored',
    body: 'bytes',
    mediaTypes: ['application/json', 'application/x-www-form-urlencoded', 'text/plain'],
    bodyMaxBytes: ports.mostBytes,
    bodyTerms(request) {
      const caller = sourceOf(request.caller);
      return {
        maxBytes: ports.readMaxBytes(caller.source),
        share: () => ports.shareBody({ ...request, caller }),
      };
    },
    responses: {
      200: {
        description:
          'Written, or written before (`Idempotent-Replayed: true`): the record with its receipts. `records` is empty ' +
          'where nothing was written, because the delivery id was used with other bytes, or the record id with other ' +
          'content: a sender would repeat any other answer. Or the challenge of the sender.',
        schema: Type.Union([Delivered, Challenge]),
      },
    },
    errors: [
      'INVALID_REQUEST',
      'ASSET_TYPE_NOT_ALLOWED',
      'NOT_FOUND',
      'UNKNOWN_CHANNEL',
      'IDEMPOTENCY_IN_PROGRESS',
      'LEDGER_UNAVAILABLE',
      'OUTCOME_UNKNOWN',
      'OVERLOADED',
      'UNAVAILABLE',
    ],
    admit({ path }) {
      const flooded = ports.refuseFlooded(path);
      if (flooded !== undefined) throw flooded;
    },
    problem: {
      decorate(problem, error) {
        ports.onRefusal(error.code);
        return problem;
      },
    },
    async handler(context) {
      const { rawBody, requestId } = context;
      // The signature authorises the write: a source may only deliver.
      context.permit('ingest:write');
      const answer = await ports
        .takeDelivery({
          caller: sourceOf(context.caller),
          requestId,
          delivery: { header: (name) => context.header(name), body: rawBody },
          headers: () => headersOf(context.request.headers),
          form: formOf(context.header('content-type')),
          guard: context.isProvisional ? context.caller.guard : undefined,
          charge: () => context.charge(1),
          confirmCaller: () => context.confirmCaller(),
        })
        .catch(servedAgain);
      if (answer.confirmed) context.callerIsConfirmed();
      const { outcome, eventId, transactionId } = answer;
      const records = outcome === 'written' ? 1 : 0;
      context.note(
        defined({ records, outcome, eventId, transactionId, replayed: outcome === 'replayed' || undefined }),
      );
      const headers = answer.outcome === 'replayed' ? { headers: { 'Idempotent-Replayed': 'true' } } : {};
      return { status: 200, body: answer.body, ...headers };
    },
  });
  return [deliver];
}

/** No credentials of browsers or proxies: no sender signs them. */
const NEVER_KEPT: ReadonlySet<string> = new Set(['cookie', 'proxy-authorization', 'connection', 'transfer-encoding']);

function headersOf(headers: IncomingHttpHeaders): [string, string][] {
  return Object.entries(headers).flatMap(([name, value]): [string, string][] => {
    if (value === undefined || NEVER_KEPT.has(name)) return [];
    return [[name, typeof value === 'string' ? value : value.join(', ')]];
  });
}

function sourceOf(caller: IngestCaller): SourceCaller {
  const { source } = caller;
  assert(source !== undefined, 'Below /hooks every caller is a source.');
  return caller as SourceCaller;
}

/** How a body of this media type is parsed; undefined for an unsupported one. */
export function formOf(contentType: string | undefined): BodyForm | undefined {
  if (contentType === 'application/json') return 'json';
  const type = contentType === undefined ? undefined : utf8MediaType(contentType);
  if (type === undefined) return undefined;
  if (type === 'application/json' || type.endsWith('+json')) return 'json';
  if (type === 'application/x-www-form-urlencoded') return 'form';
  return type.startsWith('text/') ? 'text' : undefined;
}
