import { ADMIN_BODY_MAX_BYTES, adminBase, type AdminCaller, adminRoute } from '@sealgate/admin-api';
import { closedObject, named, type Route } from '@sealgate/http';
import { Type } from '@sinclair/typebox';
import { checkMapping, type CheckMappingPorts, MappingReport } from '../domain/check-mapping.ts';

const MappingFile = named(
  'MappingFile',
  closedObject({ mapping: Type.String({ description: 'The text of a mapping file.' }) }),
);

/** Routes of the admin listener for mapping files. */
export function adminMappingRoutes(ports: CheckMappingPorts): Route<AdminCaller>[] {
  return [
    adminRoute({
      ...adminBase,
      method: 'post',
      path: '/admin/v1/mapping/check',
      operationId: 'checkMapping',
      summary: 'Try a mapping file on the Fabric network, without writing',
      description:
        'Evaluates each read with an id that no contract has, and each query with empty filters, by the connection and ' +
        'the identity of this process. Nothing is endorsed, and the mapping of the process stays as it is.',
      looks: true,
      body: MappingFile,
      bodyMaxBytes: ADMIN_BODY_MAX_BYTES,
      responses: { 200: { description: 'The faults of the file, or what each call did.', schema: MappingReport } },
      errors: ['FORBIDDEN'],
      async handler({ body }) {
        return { status: 200, body: await checkMapping(ports, body.mapping) };
      },
    }),
  ];
}
