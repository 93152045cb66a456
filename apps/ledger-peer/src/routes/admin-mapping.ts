import { ADMIN_BODY_MAX_BYTES, adminBase, type AdminCaller, adminRoute } from '@sealgate/admin-api';
import { closedObject, named, type Route } from '@sealgate/http';
import { Type } from '@sinclair/typebox';
import { AppError } from '@sealgate/errors';
import { signedBy, type AssetLedger } from '../domain/asset-ledger.ts';
import type { Signers } from '../domain/caller.ts';
import { checkMapping, type CheckMappingPorts, MappingReport } from '../domain/check-mapping.ts';

const MappingFile = named(
  'MappingFile',
  closedObject({
    mapping: Type.String({ description: 'The text of a mapping file.' }),
    identity: Type.Optional(
      Type.String({
        description:
          'Who signs: a name of the connection file. Default: who signs for the caller, by a claim of their token.',
        minLength: 1,
        maxLength: 63,
      }),
    ),
  }),
);

export interface AdminMappingPorts extends CheckMappingPorts {
  readonly ledger: AssetLedger;
  readonly signers: Signers | undefined;
}

/** Routes of the admin listener for mapping files. */
export function adminMappingRoutes(ports: AdminMappingPorts): Route<AdminCaller>[] {
  return [
    adminRoute({
      ...adminBase,
      method: 'post',
      path: '/admin/v1/mapping/check',
      operationId: 'checkMapping',
      summary: 'Try a mapping file on the Fabric network, without writing',
      description:
        'Evaluates each read and history with an id that no contract has, and each query with empty filters, by the connection of ' +
        'this process and as an identity of it. Nothing is endorsed, and the mapping of the process stays as it is.',
      looks: true,
      body: MappingFile,
      bodyMaxBytes: ADMIN_BODY_MAX_BYTES,
      responses: { 200: { description: 'The faults of the file, or what each call did.', schema: MappingReport } },
      errors: ['FORBIDDEN'],
      async handler({ body, caller }) {
        const ledger = signedBy(ports.ledger, signerOf(ports.signers, caller, body.identity));
        return { status: 200, body: await checkMapping({ ...ports, ledger }, body.mapping) };
      },
    }),
  ];
}

/** @throws AppError INVALID_REQUEST for an unknown identity, FORBIDDEN if none signs for the caller. */
function signerOf(
  signers: Signers | undefined,
  { identity: person, claims }: AdminCaller,
  wanted: string | undefined,
): string | undefined {
  if (wanted !== undefined && signers?.has(wanted) !== true) {
    const detail = 'The connection file has no identity of this name.';
    throw new AppError('INVALID_REQUEST', detail, { faults: [{ in: 'body', pointer: '/identity', detail }] });
  }
  if (signers === undefined || wanted !== undefined) return wanted;
  const token = person === undefined || claims === undefined ? undefined : { issuer: person.issuer, claims };
  const signer = signers.ofToken(token);
  if (signer === undefined) throw new AppError('FORBIDDEN', 'No identity signs for you; name one.');
  return signer;
}
