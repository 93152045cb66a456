import { adminBase, type AdminCaller, adminRoute, LIST_RANGE, listRoute } from '@sealgate/admin-api';
import { AppError } from '@sealgate/errors';
import { lineOfText, listOf, listQuery, type Route } from '@sealgate/http';
import { type CursorCodec, parseLimit } from '@sealgate/paging';
import { Type } from '@sinclair/typebox';
import {
  FabricBlock,
  FabricBlockContent,
  FabricChannel,
  type FabricExplorerPorts,
  FabricTransaction,
  findTransaction,
  listBlocks,
  listChannels,
  readBlock,
} from '../domain/fabric-explorer.ts';

export interface AdminFabricPorts {
  /** Undefined on a ledger without blocks: it has no channels of Fabric. */
  readonly explorer: FabricExplorerPorts | undefined;
  readonly cursors: CursorCodec;
}

const base = { ...adminBase, method: 'get' } as const;
const Channel = lineOfText({ min: 1, max: 1024 });
const BlockNumber = Type.String({ pattern: '^(0|[1-9][0-9]{0,14})$' });

/** Routes of the admin listener to look at the blocks of Fabric. They show no arguments and no private data. */
export function adminFabricRoutes(ports: AdminFabricPorts): Route<AdminCaller>[] {
  return [channelsRoute(ports), blocksRoute(ports), ...itemRoutes(ports)];
}

function channelsRoute(ports: AdminFabricPorts): Route<AdminCaller> {
  return listRoute({
    path: '/admin/v1/fabric/channels',
    operationId: 'listFabricChannels',
    summary: 'List the mapped channels by name, with the blocks that peers have of each',
    description: 'On the embedded ledger there are none.',
    name: 'fabric channels',
    boundTo: [],
    rows: async ({ limit, after = '' }) =>
      ports.explorer === undefined ? [] : listChannels(ports.explorer, { after, limit }),
    positionOf: ({ channel }: { readonly channel: string }) => channel,
    row: FabricChannel,
    cursors: ports.cursors,
  });
}

function blocksRoute(ports: AdminFabricPorts): Route<AdminCaller> {
  return adminRoute({
    ...base,
    path: '/admin/v1/fabric/channels/:channel/blocks',
    operationId: 'listFabricBlocks',
    summary: 'List the blocks of a channel, newest first',
    description:
      'The blocks of the Fabric channel, with the transactions of others that share it. A page has fewer than `limit` ' +
      'blocks if they are large; only `nextCursor` says whether it is the last.',
    params: Type.Object({ channel: Channel }),
    query: listQuery(LIST_RANGE, {
      below: Type.Optional({ ...BlockNumber, description: 'A number: the list starts with the block before it.' }),
    }),
    responses: { 200: { description: 'A page.', schema: listOf(FabricBlock) } },
    errors: ['INVALID_LIMIT', 'INVALID_CURSOR', 'NOT_FOUND', 'LEDGER_UNAVAILABLE'],
    async handler({ params: { channel }, query: { limit, cursor, below }, signal }) {
      const binding = ['fabric blocks', channel, below ?? ''];
      const begin = cursor === undefined ? below : ports.cursors.read(binding, cursor);
      const wanted = {
        channel,
        below: begin === undefined ? undefined : Number(begin),
        limit: parseLimit(limit, LIST_RANGE),
      };
      const { items, next } = await listBlocks(explorerOf(ports), wanted, signal);
      return {
        status: 200,
        body: { items, nextCursor: next === undefined ? null : ports.cursors.make(binding, next) },
      };
    },
  });
}

/** @throws AppError NOT_FOUND */
function explorerOf({ explorer }: AdminFabricPorts): FabricExplorerPorts {
  if (explorer === undefined) throw new AppError('NOT_FOUND', 'The embedded ledger has no blocks.');
  return explorer;
}

function itemRoutes(ports: AdminFabricPorts): Route<AdminCaller>[] {
  const block = adminRoute({
    ...base,
    path: '/admin/v1/fabric/channels/:channel/blocks/:number',
    operationId: 'getFabricBlock',
    summary: 'Get a block with what it has of each transaction, without arguments',
    params: Type.Object({ channel: Channel, number: BlockNumber }),
    responses: { 200: { description: 'The block.', schema: FabricBlockContent } },
    errors: ['NOT_FOUND', 'LEDGER_UNAVAILABLE'],
    async handler({ params: { channel, number }, signal }) {
      return { status: 200, body: await readBlock(explorerOf(ports), { channel, number: Number(number) }, signal) };
    },
  });
  const transaction = adminRoute({
    ...base,
    path: '/admin/v1/fabric/transactions/:transactionId',
    operationId: 'getFabricTransaction',
    summary: 'Find a transaction of a contract in the mapped channels, with every key that it writes',
    params: Type.Object({ transactionId: lineOfText({ min: 1, max: 128 }) }),
    responses: { 200: { description: 'The transaction.', schema: FabricTransaction } },
    errors: ['NOT_FOUND', 'LEDGER_UNAVAILABLE'],
    async handler({ params: { transactionId } }) {
      return { status: 200, body: await findTransaction(explorerOf(ports), transactionId) };
    },
  });
  return [block, transaction];
}
