import { named, routeFor, type Reply, type Route } from '@sealgate/http';
import { AppError } from '@sealgate/errors';
import { ProvedOnFabric } from '@sealgate/schemas';
import { Type } from '@sinclair/typebox';
import { assemblePack, type PackPorts } from '../domain/assessor-pack.ts';
import { settledCase, type CaseReadPorts } from '../domain/case-lifetime.ts';
import { PackAttachment, TimelineEntry } from '../domain/case-record.ts';
import type { StoredEligibility } from '../domain/case-transaction.ts';
import { EligibilityAnswer, eligibilityView } from '../domain/eligibility-view.ts';
import type { GateCaller } from '../domain/key.ts';
import { CaseId, Flag, OrNull, SubjectRef, Text, Time } from '../schemas.ts';
import { packPage, prefersHtml } from './pack-page.ts';

const route = routeFor<GateCaller>();

const open = Type.Object({}, { additionalProperties: true });

const ProvedInLog = named(
  'ProvedInLog',
  Type.Object({ receipt: open, proof: open }, { description: 'Input of `sealgate-verify receipt`.' }),
);

const SealProof = named(
  'SealProof',
  Type.Union([ProvedInLog, ProvedOnFabric], { description: 'Of the ledger record, as it was first made.' }),
);

const Pack = named(
  'AssessorPack',
  Type.Object({
    case_id: Text,
    subject_ref: Text,
    status: Text,
    timeline: Type.Array(TimelineEntry),
    decisions: Type.Array(Type.Object({}, { additionalProperties: true })),
    attachments: Type.Array(PackAttachment),
    seals: Type.Array(
      named(
        'PackSeal',
        Type.Object({
          document: Type.Object({}, { additionalProperties: true }),
          seal_hash: Text,
          ledger_record_id: Text,
          proof: OrNull(SealProof, { description: 'Null if it was sealed on a ledger that proves it no more.' }),
        }),
      ),
    ),
    canonicalization: Type.Literal('RFC8785'),
    generated_at: Time,
    pack_hash: Text,
    signature: Type.String({ description: 'Detached JWS (EdDSA) over the bytes that pack_hash covers.' }),
  }),
);

export interface RecordsPorts extends PackPorts, CaseReadPorts {
  readonly readEligibility: (environment: string, subjectRef: string) => Promise<StoredEligibility>;
  /** Audits the export of a pack. Where it fails the pack is not sent. */
  readonly auditExport: (export_: {
    readonly caseId: string;
    readonly actor: string;
    readonly requestId: string;
    readonly packHash: string;
  }) => Promise<void>;
}

/** The description of an export that both listeners offer. */
export const packStep = {
  method: 'get',
  looks: true,
  idempotency: 'none',
  summary: 'Export everything about a sealed case, signed, for offline verification by an assessor',
  description: 'With `Accept: text/html` preferred, a page to print. Every export is audited.',
  responses: {
    200: { description: 'The pack.', schema: Pack, otherTypes: ['text/html'], headers: { Vary: 'Accept' } },
  },
  errors: ['NOT_FOUND', 'CASE_NOT_SEALED', 'LEDGER_UNAVAILABLE', 'OUTCOME_UNKNOWN'],
} as const;

export const draftQuery = { draft: Type.Optional(Flag) };

const VARY = { Vary: 'Accept' };

interface PackOrder {
  readonly environment: string;
  readonly caseId: string;
  readonly isDraft: boolean;
  readonly actor: string;
  readonly requestId: string;
  readonly accept: string | undefined;
}

/** Assembles a pack and audits its export, before it is sent. */
export async function exportPack(
  ports: Omit<RecordsPorts, 'readEligibility'>,
  { environment, caseId, isDraft, actor, requestId, accept }: PackOrder,
): Promise<Reply> {
  await settledCase(ports, environment, caseId);
  const pack = await assemblePack(ports, { environment, caseId, isDraft });
  await ports.auditExport({ caseId, actor, requestId, packHash: pack.pack_hash });
  if (!prefersHtml(accept)) return { status: 200, body: pack, headers: VARY };
  return { status: 200, body: packPage(pack), contentType: 'text/html; charset=utf-8', headers: VARY };
}

export function recordRoutes(ports: RecordsPorts): Route<GateCaller>[] {
  return [eligibilityRoute(ports), packRoute(ports)];
}

function eligibilityRoute(ports: RecordsPorts): Route<GateCaller> {
  return route({
    method: 'get',
    path: '/v1/eligibility/:subject_ref',
    operationId: 'readEligibility',
    summary: 'The current eligibility record of a subject',
    permit: 'eligibility:read',
    charge: 1,
    idempotency: 'none',
    params: Type.Object({ subject_ref: SubjectRef }),
    responses: { 200: { description: 'The current record.', schema: EligibilityAnswer } },
    errors: ['NOT_FOUND'],
    async handler({ caller, params }) {
      const stored = await ports.readEligibility(caller.environment, params.subject_ref);
      if (stored.kind === 'none') throw new AppError('NOT_FOUND', 'There is no such subject.');
      if (stored.kind === 'corrupt')
        throw new Error(`The eligibility record of ${params.subject_ref} failed its integrity check.`);
      return { status: 200, body: eligibilityView(stored.record, stored.review, ports) };
    },
  });
}

function packRoute(ports: RecordsPorts): Route<GateCaller> {
  return route({
    ...packStep,
    path: '/v1/cases/:case_id/assessor-pack',
    operationId: 'exportAssessorPack',
    permit: 'case:export',
    charge: 1,
    params: Type.Object({ case_id: CaseId }),
    query: Type.Object(draftQuery, { additionalProperties: false }),
    async handler(context) {
      const { caller, query, requestId, params } = context;
      const { environment, keyId: actor } = caller;
      const order = { environment, caseId: params.case_id, isDraft: query.draft === 'true', actor, requestId };
      return exportPack(ports, { ...order, accept: context.header('accept') });
    },
  });
}
