import { AppError } from '@sealgate/errors';
import { toolFrom, unknownArguments, type Guard, type Tool } from '@sealgate/http';
import type { Jwks } from '@sealgate/envelope';
import type { JsonValue } from '@sealgate/json';
import type { Route } from '@sealgate/http';
import type { RiskCaller } from '../domain/caller.ts';
import { isValidEnvelope } from '../domain/verify-envelope.ts';
import type { PartnerRouteTable } from '../routes/partner.ts';

export interface ToolPorts {
  readonly partner: PartnerRouteTable;
  readonly whoami: Route<RiskCaller>;
  readonly guard: Pick<Guard<RiskCaller>, 'permits'>;
  /** The keys that envelopes of this deployment are signed with. */
  readonly readKeys: () => Promise<Jwks>;
}

/** Which route stands behind which tool. */
const LISTS = {
  list_risks: 'risks',
  list_assets: 'assets',
  list_evidence: 'evidence',
  list_controls: 'controls',
  list_policies: 'policies',
  get_coverage: 'coverage',
  list_proofs: 'proofs',
  list_frameworks: 'frameworks',
} as const;
const ITEMS = { get_risk: 'risks', get_asset: 'assets', get_evidence: 'evidence' } as const;

/** Every tool. All but one are the routes of `/api/v1` through another door. */
export function partnerTools({ partner, whoami, guard, readKeys }: ToolPorts): Tool<RiskCaller>[] {
  const routesOf = (collection: string) => partner.get(collection)!;
  return [
    ...Object.entries(LISTS).map(([name, collection]) => toolFrom(routesOf(collection).list, { name, guard })),
    ...Object.entries(ITEMS).map(([name, collection]) => toolFrom(routesOf(collection).item, { name, guard })),
    verifyEnvelope(readKeys),
    toolFrom(whoami, { name: 'whoami', guard }),
  ];
}

const MAX_SIGNATURE_CHARACTERS = 4096;

/** There is nothing to read here, so there is no route: whoever has a role may ask. */
function verifyEnvelope(readKeys: () => Promise<Jwks>): Tool<RiskCaller> {
  const mayCall = ({ roles }: RiskCaller) => roles.length > 0;
  return {
    name: 'verify_envelope',
    description:
      'Whether an envelope of this service is unchanged and, where its Evidence-Signature is given, signed by this service',
    inputSchema: {
      type: 'object',
      properties: {
        envelope: { type: 'object', description: 'The envelope as it was received.' },
        signature: {
          type: 'string',
          description: 'The value of Evidence-Signature.',
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
  const at = (name: string, detail: string) => ({ in: 'body' as const, pointer: `/${name}`, detail });
  const unknown = Object.keys(others);
  if (unknown.length > 0) throw unknownArguments(unknown, 'body');
  const faults = [
    ...(typeof envelope === 'object' && envelope !== null && !Array.isArray(envelope)
      ? []
      : [at('envelope', 'must be an object')]),
    ...(signature === undefined || (typeof signature === 'string' && signature.length <= MAX_SIGNATURE_CHARACTERS)
      ? []
      : [at('signature', 'must be a text of a signature')]),
  ];
  if (faults.length > 0) throw new AppError('INVALID_REQUEST', 'The arguments are not as documented.', { faults });
  // Both came out of strict JSON and have been looked at.
  return { envelope: envelope as JsonValue, signature: signature as string | undefined };
}
