import { lineOfText, type Route, routeFor } from '@sealgate/http';
import { Type } from '@sinclair/typebox';
import { CALLS_LEDGER, type PeerCaller } from '../domain/caller.ts';
import { ChannelTransaction, readTransaction, type ReadTransactionPorts } from '../domain/read-transaction.ts';

const route = routeFor<PeerCaller>();

/** Transactions in blocks of mapped channels. */
export function transactionRoutes(ports: ReadTransactionPorts): Route<PeerCaller>[] {
  return [
    route({
      method: 'get',
      path: '/api/transactions/:transactionId',
      operationId: 'readTransaction',
      summary: 'Find a transaction in the blocks of the mapped channels, on Fabric',
      description:
        'Who submitted and endorsed it, its validation code, and the keys that it writes. Transactions of chaincodes and ' +
        'records that no mapping serves are 404, as on the embedded ledger, which has no blocks.',
      permit: CALLS_LEDGER,
      charge: 1,
      idempotency: 'none',
      looks: true,
      params: Type.Object({ transactionId: lineOfText({ min: 1, max: 128 }) }),
      responses: { 200: { description: 'The transaction.', schema: ChannelTransaction } },
      errors: ['NOT_FOUND', 'OVERLOADED', 'LEDGER_UNAVAILABLE'],
      async handler({ caller: { identity }, params: { transactionId } }) {
        return { status: 200, body: await readTransaction(ports, { transactionId, identity }) };
      },
    }),
  ];
}
