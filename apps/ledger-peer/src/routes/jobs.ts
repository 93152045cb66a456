import { AppError } from '@sealgate/errors';
import { lineOfText, routeFor, type Route } from '@sealgate/http';
import { Type } from '@sinclair/typebox';
import { FAILURE_CODES_TEXT } from '../domain/asset-result.ts';
import type { PeerCaller } from '../domain/caller.ts';
import { Job, type JobStore } from '../domain/jobs.ts';

const route = routeFor<PeerCaller>();

/** Jobs, visible to the key family that created them. */
export function jobRoutes({ jobs }: { readonly jobs: Pick<JobStore, 'find'> }): Route<PeerCaller>[] {
  return [
    route({
      method: 'get',
      path: '/api/jobs/:id',
      operationId: 'getJob',
      summary: 'Get the result of an asynchronous write',
      permit: 'authenticated',
      charge: 1,
      idempotency: 'none',
      params: Type.Object({ id: lineOfText({ min: 1, max: 128 }) }),
      responses: {
        200: {
          description: `The job, with its result for 24 hours once it is done. Codes of failed assets:\n${FAILURE_CODES_TEXT}`,
          schema: Job,
        },
      },
      errors: ['NOT_FOUND'],
      async handler({ params, caller }) {
        const job = await jobs.find(params.id, caller.familyId);
        if (job === undefined) throw new AppError('NOT_FOUND', 'There is no such job.');
        const { id, status, result } = job;
        const rest = result === undefined ? '' : `,"result":${result}`;
        return { status: 200, body: `{"id":"${id}","status":"${status}"${rest}}` };
      },
    }),
  ];
}
