import { AppError } from '@sealgate/errors';
import { toolFrom, unknownArguments, type Guard, type Route, type Tool } from '@sealgate/http';
import { hashedBytesOf, hasTrueHash, isPartnerEnvelope, verifyDetached, type Jwks } from '@sealgate/envelope';
import type { JsonValue } from '@sealgate/json';
import { rowScopeOf, type RiskCaller } from '../domain/caller.ts';
import type { NamedRows, RefKind } from '../domain/read-partner.ts';
import type { PartnerRouteTable } from '../routes/partner.ts';

/** The route of a tool, and what a model needs to know to choose it. */
interface ToolText {
  readonly collection: string;
  readonly title: string;
  readonly description: string;
}

/** Bytes of the largest message that a model gets without asking for more by `limit`. */
const PAGE_MAX_BYTES = 60_000;

const PAGED =
  'Returns one page in a signed envelope: items, and pagination.nextCursor to pass as cursor for the next page (null on the last page).';

const LISTS: Readonly<Record<string, ToolText>> = {
  list_risks: {
    collection: 'risks',
    title: 'List risks',
    description: `Lists the risks of the organisation with status, inherent, current and residual score and level, treatment and linked controls. Use it to find, count or compare risks, or to get the id for get_risk. ${PAGED}`,
  },
  list_assets: {
    collection: 'assets',
    title: 'List assets',
    description: `Lists the assets (systems, data stores, suppliers and the like) with type, criticality, data classification, environment and linked controls. Use it to find what needs protection, or to get the id for get_asset. ${PAGED}`,
  },
  list_evidence: {
    collection: 'evidence',
    title: 'List evidence',
    description: `Lists the metadata of evidence: kind, state, SHA-256 of the document, until when it is valid, which controls it supports and its record in the ledger. Use it to see what supports a control (controlId), what is waiting for review or what expires. The documents themselves are not available. ${PAGED}`,
  },
  list_controls: {
    collection: 'controls',
    title: 'List controls',
    description: `Lists the controls with status, the framework requirements each covers, the last test and the number of evidence items. Use it to name controls that other results list by id only, or to find the controls of one framework. ${PAGED}`,
  },
  list_policies: {
    collection: 'policies',
    title: 'List policies',
    description: `Lists the policies with version, status, dates and the SHA-256 of their text, never the text. Use it to see which policies are in force and when each is next reviewed. ${PAGED}`,
  },
  get_coverage: {
    collection: 'coverage',
    title: 'Get framework coverage',
    description: `Returns for each requirement of a framework its title and whether it is covered, partial, a gap or not applicable, by which controls and which evidence. Use it for every question on compliance, gaps or audit readiness; state "gap" lists what is missing. The result has a snapshotId: pass it on to read further pages of the same revision. ${PAGED}`,
  },
  list_proofs: {
    collection: 'proofs',
    title: 'List ledger proofs',
    description: `Lists the proofs that approved evidence was sealed in the public ledger: leaf hash, position, inclusion path and signed checkpoint, or on Fabric what peers signed, for offline verification. Use it when asked whether evidence existed at a time or has changed since; subjectId, the id of the evidence, selects its proof. ${PAGED}`,
  },
  list_frameworks: {
    collection: 'frameworks',
    title: 'List frameworks',
    description: `Lists the frameworks (standards and regulations) that apply to the organisation, with version and number of requirements. Use it to get the id for the framework argument of get_coverage and list_controls. ${PAGED}`,
  },
};

interface ItemText extends ToolText {
  readonly id: { readonly description: string; readonly examples: string[] };
  /** The kind of rows that can be named by their `refId` too. */
  readonly byRef?: RefKind;
}

const ITEMS: Readonly<Record<string, ItemText>> = {
  get_risk: {
    collection: 'risks',
    title: 'Get one risk',
    description:
      'Reads one risk by its id, or by its refId (the reference that people use), in a signed envelope. Use it when one of them is known; to search, use list_risks. NOT_FOUND also where this person may not see it.',
    id: { description: 'The id of the risk, as list_risks gives it, or its refId.', examples: ['rsk_01jz0w9c4e'] },
    byRef: 'risk',
  },
  get_asset: {
    collection: 'assets',
    title: 'Get one asset',
    description:
      'Reads one asset by its id, or by its refId (the reference that people use), in a signed envelope. Use it when one of them is known; to search, use list_assets. NOT_FOUND also where this person may not see it.',
    id: { description: 'The id of the asset, as list_assets gives it, or its refId.', examples: ['ast_01jz0w9c4e'] },
    byRef: 'asset',
  },
  get_control: {
    collection: 'controls',
    title: 'Get one control',
    description:
      'Reads one control by its id, or by its refId (the reference that people use), in a signed envelope: its status, the framework requirements it covers, the last test and the number of evidence items. Use it to name a control that another result lists by id only; to search, use list_controls.',
    id: {
      description: 'The id of the control, as list_controls gives it, or its refId.',
      examples: ['ctl_01jz0w9c4e'],
    },
    byRef: 'control',
  },
  get_evidence: {
    collection: 'evidence',
    title: 'Get one item of evidence',
    description:
      'Reads the metadata of one item of evidence by its id, in a signed envelope. Use it when the id is known, from evidenceIds of get_coverage for instance; to search, use list_evidence. NOT_FOUND also where this person may not see it.',
    id: {
      description: 'The id of the evidence, as list_evidence or get_coverage gives it.',
      examples: ['evd_01jz0w9c4e'],
    },
  },
};

/** All tools. All but one wrap a route of `/api/v1`. */
export function partnerTools({
  partner,
  rows,
  whoami,
  guard,
  readKeys,
}: {
  readonly partner: PartnerRouteTable;
  readonly rows: Pick<NamedRows, 'idsByRef'>;
  readonly whoami: Route<RiskCaller>;
  readonly guard: Pick<Guard<RiskCaller>, 'permits'>;
  /** The keys that sign the envelopes of this deployment. */
  readonly readKeys: () => Promise<Jwks>;
}): Tool<RiskCaller>[] {
  const routesOf = (collection: string) => partner.get(collection)!;
  return [
    ...Object.entries(LISTS).map(([name, { collection, ...text }]) =>
      toolFrom(routesOf(collection).list, { name, ...text, guard, pageMaxBytes: PAGE_MAX_BYTES }),
    ),
    ...Object.entries(ITEMS).map(([name, { collection, id, byRef, ...text }]) => {
      const tool = toolFrom(routesOf(collection).item, { name, ...text, guard, pathArguments: { id } });
      return byRef === undefined ? tool : findingByRef(tool, { kind: byRef, rows });
    }),
    verifyEnvelope(readKeys),
    toolFrom(whoami, {
      name: 'whoami',
      title: 'Who am I',
      description:
        'Returns the owner of this key: organisation, person, roles, permissions, and which departments and sensitive rows they see. Use it first when something is missing or FORBIDDEN, or when asked what is allowed.',
      guard,
    }),
  ];
}

/** More rows than this with one `refId` are not named in the refusal. */
const MAX_NAMED = 20;
// eslint-disable-next-line no-control-regex -- control characters are in no refId
const REF_ID = /^[^\x00-\x1f\x7f]{1,64}$/u;

/**
 * A tool that reads one row, by `refId` as well: in an argument of its own, or as `id` where no row has that id. Rows
 * that the caller may not see are not found, and so change nothing.
 */
function findingByRef(
  tool: Tool<RiskCaller>,
  { kind, rows }: { readonly kind: RefKind; readonly rows: Pick<NamedRows, 'idsByRef'> },
): Tool<RiskCaller> {
  const idByRef = async (caller: RiskCaller, argument: string, refId: string): Promise<string | undefined> => {
    // No row has such a refId; a database would not even take some of them.
    if (!REF_ID.test(refId)) return undefined;
    const ids = await rows.idsByRef(rowScopeOf(caller), kind, refId, MAX_NAMED);
    if (ids.length < 2) return ids[0];
    const detail = `names several rows: ${ids.join(', ')}`;
    throw invalid(`The ${argument} ${detail}. Give the id of one.`, [{ argument, detail }]);
  };
  const { properties, required: _required, ...schema } = tool.inputSchema;
  const refId = { type: 'string', description: `The refId of the ${kind}, in place of id.`, examples: ['R-12'] };
  return {
    ...tool,
    inputSchema: { ...schema, properties: { ...Object(properties), refId } as JsonValue },
    async call(args, call) {
      const { refId: sent, ...others } = args;
      const { caller } = call;
      if ((sent ?? null) === null) {
        const { id } = others;
        try {
          return await tool.call(others, call);
        } catch (error) {
          if (!(error instanceof AppError) || error.code !== 'NOT_FOUND' || typeof id !== 'string') throw error;
          const found = await idByRef(caller, 'id', id);
          if (found === undefined) throw error;
          return tool.call({ ...others, id: found }, call);
        }
      }
      if ((others['id'] ?? null) !== null)
        throw invalid('Give id or refId.', [{ argument: 'refId', detail: 'is given beside id' }]);
      if (typeof sent !== 'string')
        throw invalid('The refId is not valid.', [{ argument: 'refId', detail: 'must be a string' }]);
      if (!tool.mayCall(caller)) throw new AppError('FORBIDDEN', 'This key may not do that.');
      // Without a row, the answer is that of an id without one.
      return tool.call({ ...others, id: (await idByRef(caller, 'refId', sent)) ?? sent }, call);
    },
  };
}

function invalid(message: string, faults: readonly { readonly argument: string; readonly detail: string }[]): AppError {
  return new AppError('INVALID_REQUEST', message, {
    faults: faults.map(({ argument, detail }) => ({ in: 'arguments' as const, pointer: `/${argument}`, detail })),
  });
}

const MAX_SIGNATURE_CHARACTERS = 4096;
const REASONS = ['not_signed', 'unknown_key', 'bad_signature', 'hash_mismatch'] as const;

/** Reads no data, so it has no route; any caller with a role may use it. */
function verifyEnvelope(readKeys: () => Promise<Jwks>): Tool<RiskCaller> {
  const mayCall = ({ roles }: RiskCaller) => roles.length > 0;
  return {
    name: 'verify_envelope',
    title: 'Verify an envelope',
    description:
      'Verifies that this service made an envelope: valid is true only if it is unchanged and signed by a key of this service. Pass the signature that came with it: evidenceSignature in _meta of a tool result, or the header Evidence-Signature by REST. Use it on an envelope from somebody else before trusting its content; without a signature it is never valid, as anybody can compute its hash.',
    inputSchema: {
      type: 'object',
      properties: {
        envelope: {
          type: 'object',
          description: 'The whole envelope as received, with evidence_hash and all other members.',
          additionalProperties: true,
        },
        signature: {
          type: 'string',
          description:
            'The signature that came with the envelope (evidenceSignature, Evidence-Signature): a detached JWS, with two consecutive dots.',
          maxLength: MAX_SIGNATURE_CHARACTERS,
        },
      },
      required: ['envelope'],
      additionalProperties: false,
    },
    outputSchema: {
      type: 'object',
      properties: {
        valid: { type: 'boolean', description: 'True if a key of this service signed exactly this envelope.' },
        signedBy: {
          anyOf: [{ type: 'string' }, { type: 'null' }],
          description: 'The id (kid) of that key; null if it is not valid.',
        },
        reason: {
          anyOf: [{ type: 'string', enum: [...REASONS] }, { type: 'null' }],
          description:
            'Why it is not valid: the content does not have the hash (hash_mismatch), there is no signature (not_signed), by no key of this service (unknown_key), or over other content (bad_signature). Null if it is valid.',
        },
      },
      required: ['valid', 'signedBy', 'reason'],
    },
    mayCall,
    async call(args, { caller }) {
      if (!mayCall(caller)) throw new AppError('FORBIDDEN', 'This key may not do that.');
      const { envelope, signature } = checkedArguments(args);
      return { status: 200, body: judged(envelope, signature, await readKeys()) };
    },
  };
}

function checkedArguments(args: Readonly<Record<string, unknown>>): {
  envelope: JsonValue;
  signature: string | undefined;
} {
  const { envelope, signature: sent, ...others } = args;
  const signature = sent ?? undefined;
  const unknown = Object.keys(others);
  if (unknown.length > 0) throw unknownArguments(unknown);
  const faults = [
    ...(typeof envelope === 'object' && envelope !== null && !Array.isArray(envelope)
      ? []
      : [{ argument: 'envelope', detail: 'must be an object' }]),
    ...(signature === undefined || (typeof signature === 'string' && signature.length <= MAX_SIGNATURE_CHARACTERS)
      ? []
      : [{ argument: 'signature', detail: 'must be a detached JWS' }]),
  ];
  if (faults.length > 0) throw invalid('The arguments are invalid.', faults);
  // Both are from strict JSON and were checked above.
  return { envelope: envelope as JsonValue, signature: signature as string | undefined };
}

interface Judgement {
  readonly valid: boolean;
  readonly signedBy: string | null;
  readonly reason: (typeof REASONS)[number] | null;
}

/** Valid means signed by one of our keys, retired ones included: whoever invents an envelope can compute its hash. */
function judged(envelope: JsonValue, signature: string | undefined, keys: Jwks): Judgement {
  const refused = (reason: Judgement['reason']): Judgement => ({ valid: false, signedBy: null, reason });
  if (!isPartnerEnvelope(envelope) || !hasTrueHash(envelope)) return refused('hash_mismatch');
  if (signature === undefined) return refused('not_signed');
  const verdict = verifyDetached(hashedBytesOf(envelope), signature, keys);
  return verdict.ok ? { valid: true, signedBy: verdict.kid, reason: null } : refused(verdict.reason);
}
