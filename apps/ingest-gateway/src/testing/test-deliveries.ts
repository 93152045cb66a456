import { ServerSecrets } from '@sealgate/auth';
import { AppError } from '@sealgate/errors';
import { InFlight } from '@sealgate/idempotency';
import type { AppendUnit, UnitResult } from '@sealgate/ledger-port';
import { Webhook } from 'standardwebhooks';
import { Stripe } from 'stripe';
import type { LiveSource, SourceCaller } from '../domain/caller.ts';
import type { SchemeName, SourceSettings } from '../domain/source.ts';
import { readBody, type ReadBody } from '../domain/read-body.ts';
import type { Refusal } from '../domain/refusals.ts';
import { isVouched } from '../domain/schemes/scheme.ts';
import { SCHEMES } from '../domain/schemes/schemes.ts';
import { takeDelivery } from '../domain/take-delivery.ts';

export const NOW_S = 1_780_000_000;
export const SECRET = 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD';
const secrets = ServerSecrets.parse(`s1:${'x'.repeat(32)}`);
const stripe = new Stripe('sk_test_none');

const written = (unit: AppendUnit): UnitResult => ({
  outcome: 'written',
  transactionId: 'aa',
  note: unit.note,
  records: unit.records.map(({ id }) => ({
    id,
    channel: unit.channel,
    transactionId: 'aa',
    index: 0,
    leafHash: '00',
    existing: false,
  })),
});

interface Setup {
  readonly scheme?: SchemeName;
  readonly settings?: SourceSettings;
  readonly hasAllKeys?: boolean;
  readonly append?: (unit: AppendUnit) => UnitResult;
}

/** A source with one secret, a clock that stands still, and a ledger with a given result. */
export function setUp({
  scheme = 'standard-webhooks',
  settings = {},
  hasAllKeys = true,
  append = written,
}: Setup = {}) {
  const trail: string[] = [];
  const refusals: Refusal[] = [];
  const units: AppendUnit[] = [];
  const source: LiveSource = {
    sourceId: `src_${'A'.repeat(22)}`,
    scheme,
    settings,
    hasAllKeys,
    keys: [{ id: 'k1', key: SCHEMES[scheme].readKey(SECRET, settings)! }],
  };
  const { allowedTypes } = settings;
  const caller: SourceCaller = {
    keyId: source.sourceId,
    familyId: source.sourceId,
    networkId: 'acme',
    channels: ['main', 'other'],
    grants: { record: 'whole', ...(allowedTypes === undefined ? {} : { allowedAssetTypes: allowedTypes }) },
    networkLimits: undefined,
    source,
    guard: { kind: 'source', id: source.sourceId, version: '1' },
  };
  const take = takeDelivery({
    ledger: {
      append: async (unit) => {
        units.push(unit);
        trail.push('append');
        return append(unit);
      },
      findConflict: async () => undefined,
    },
    inFlight: new InFlight({ startTimer: () => () => undefined }),
    fingerprints: secrets.derive('ingest fingerprints'),
    recordIds: secrets.derive('ingest record ids'),
    read: readBody as ReadBody,
    newId: (prefix) => `${prefix}1`,
    recordRejected: async ({ types }) => void trail.push(`rejected ${types.join()}`),
    onVouched: (_source, verdict) => trail.push(isVouched(verdict) ? 'holds' : 'does not hold'),
    onRefused: (_request, refusal) => refusals.push(refusal),
    mostBytes: 26_214_400,
    now: () => NOW_S * 1000 + 500,
  });
  const send = async (
    body: string,
    headers: Record<string, string>,
    form: 'json' | null = 'json',
    receivedAtMs?: number,
  ) => {
    try {
      const delivery = { header: (name: string) => headers[name], body: Buffer.from(body) };
      const charge = async () => void trail.push('charge');
      return await take({
        caller,
        requestId: 'req_1',
        delivery,
        headers: () => Object.entries(headers),
        form: form ?? undefined,
        ...(receivedAtMs === undefined ? {} : { receivedAtMs }),
        charge,
        guard: undefined,
        confirmCaller: async () => void trail.push('confirm'),
      });
    } catch (error) {
      if (error instanceof AppError) return error.code;
      throw error;
    }
  };
  return { send, trail, units, refusals };
}

export const BODY = '{"type":"order.paid"}';

export const standardHeaders = (atS: number, { id = 'msg_1', body = BODY } = {}) => ({
  'webhook-id': id,
  'webhook-timestamp': String(atS),
  'webhook-signature': new Webhook(SECRET).sign(id, new Date(atS * 1000), body),
});

export const stripeHeaders = (timestamp: number, body = BODY) => ({
  'stripe-signature': stripe.webhooks.generateTestHeaderString({ payload: body, secret: SECRET, timestamp }),
});
