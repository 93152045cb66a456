import { AppError } from '@sealgate/errors';
import { toolFrom, unknownArguments, type Guard, type Route, type Tool } from '@sealgate/http';
import { hashedBytesOf, hasTrueHash, isPartnerEnvelope, verifyDetached, type Jwks } from '@sealgate/envelope';
import type { JsonValue } from '@sealgate/json';
import type { RiskCaller } from '../domain/caller.ts';
import type { PartnerRouteTable } from '../routes/partner.ts';

/** The route of a tool, and what a model needs to know to choose it. */
interface ToolText {
  readonly collection: string;
  readonly title: string;
  readonly description: string;
}

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
    description: `Returns for each requirement of a framework whether it is covered, partial, a gap or not applicable, by which controls and which evidence. Use it for every question on compliance, gaps or audit readiness; state "gap" lists what is missing. The result has a snapshotId: pass it on to read further pages of the same revision. ${PAGED}`,
  },
  list_proofs: {
    collection: 'proofs',
    title: 'List ledger proofs',
    description: `Lists the proofs that approved evidence was sealed in the public ledger: leaf hash, position, inclusion path and signed checkpoint, for offline verification. Use it when asked whether evidence existed at a time or has changed since; subjectId is the id of the evidence. ${PAGED}`,
  },
  list_frameworks: {
    collection: 'frameworks',
    title: 'List frameworks',
    description: `Lists the frameworks (standards and regulations) that apply to the organisation, with version and number of requirements. Use it to get the id for the framework argument of get_coverage and list_controls. ${PAGED}`,
  },
};

const ITEMS: Readonly<Record<string, ToolText & { readonly id: { description: string; examples: string[] } }>> = {
  get_risk: {
    collection: 'risks',
    title: 'Get one risk',
    description:
      'Reads one risk by its id, in a signed envelope. Use it when the id is known; to search, use list_risks. NOT_FOUND also where this person may not see it.',
    id: { description: 'The id of the risk, as list_risks gives it.', examples: ['rsk_01jz0w9c4e'] },
  },
  get_asset: {
    collection: 'assets',
    title: 'Get one asset',
    description:
      'Reads one asset by its id, in a signed envelope. Use it when the id is known; to search, use list_assets. NOT_FOUND also where this person may not see it.',
    id: { description: 'The id of the asset, as list_assets gives it.', examples: ['ast_01jz0w9c4e'] },
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
  whoami,
  guard,
  readKeys,
}: {
  readonly partner: PartnerRouteTable;
  readonly whoami: Route<RiskCaller>;
  readonly guard: Pick<Guard<RiskCaller>, 'permits'>;
  /** The keys that sign the envelopes of this deployment. */
  readonly readKeys: () => Promise<Jwks>;
}): Tool<RiskCaller>[] {
  const routesOf = (collection: string) => partner.get(collection)!;
  return [
    ...Object.entries(LISTS).map(([name, { collection, ...text }]) =>
      toolFrom(routesOf(collection).list, { name, ...text, guard }),
    ),
    ...Object.entries(ITEMS).map(([name, { collection, id, ...text }]) =>
      toolFrom(routesOf(collection).item, { name, ...text, guard, pathArguments: { id } }),
    ),
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

const MAX_SIGNATURE_CHARACTERS = 4096;

/** Reads no data, so it has no route; any caller with a role may use it. */
function verifyEnvelope(readKeys: () => Promise<Jwks>): Tool<RiskCaller> {
  const mayCall = ({ roles }: RiskCaller) => roles.length > 0;
  return {
    name: 'verify_envelope',
    title: 'Verify an envelope',
    description:
      'Verifies an envelope that a list or get tool of this service returned: valid is true if it is unchanged and, if its signature is given, signed by this service. Use it on an envelope from somebody else before trusting its content; without a signature it only shows that nothing was changed by accident.',
    inputSchema: {
      type: 'object',
      properties: {
        envelope: {
          type: 'object',
          description: 'The whole envelope as received, with evidence_hash and all other members.',
        },
        signature: {
          type: 'string',
          description:
            'The value of the Evidence-Signature header of the REST response: a detached JWS, with two consecutive dots.',
          maxLength: MAX_SIGNATURE_CHARACTERS,
        },
      },
      required: ['envelope'],
      additionalProperties: false,
    },
    outputSchema: { type: 'object', properties: { valid: { type: 'boolean' } }, required: ['valid'] },
    mayCall,
    async call(args, { caller }) {
      if (!mayCall(caller)) throw new AppError('FORBIDDEN', 'This key may not do that.');
      const { envelope, signature } = checkedArguments(args);
      return { status: 200, body: { valid: isValidEnvelope(envelope, signature, await readKeys()) } };
    },
  };
}

function checkedArguments(args: Readonly<Record<string, unknown>>): {
  envelope: JsonValue;
  signature: string | undefined;
} {
  const { envelope, signature, ...others } = args;
  const at = (name: string, detail: string) => ({ in: 'arguments' as const, pointer: `/${name}`, detail });
  const unknown = Object.keys(others);
  if (unknown.length > 0) throw unknownArguments(unknown);
  const faults = [
    ...(typeof envelope === 'object' && envelope !== null && !Array.isArray(envelope)
      ? []
      : [at('envelope', 'must be an object')]),
    ...(signature === undefined || (typeof signature === 'string' && signature.length <= MAX_SIGNATURE_CHARACTERS)
      ? []
      : [at('signature', 'must be a detached JWS')]),
  ];
  if (faults.length > 0) throw new AppError('INVALID_REQUEST', 'The arguments are invalid.', { faults });
  // Both are from strict JSON and were checked above.
  return { envelope: envelope as JsonValue, signature: signature as string | undefined };
}

/**
 * Whether the hash of an envelope matches and, if a signature is given, one of our keys made it over exactly these bytes.
 * Without a signature `valid` means only that nothing has changed since the envelope was hashed.
 */
function isValidEnvelope(envelope: JsonValue, signature: string | undefined, keys: Jwks): boolean {
  if (!isPartnerEnvelope(envelope) || !hasTrueHash(envelope)) return false;
  return signature === undefined || verifyDetached(hashedBytesOf(envelope), signature, keys).ok;
}
