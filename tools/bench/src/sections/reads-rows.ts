import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BenchContext, ReleaseStack } from '../bench-context.ts';
import type { RiskSite } from '../gateway/risk-site.ts';
import type { LoadPlan, PlannedRequest } from '../load/load-plan.ts';
import type { WatchedProcess } from '../proc-usage.ts';
import { startEchoServer } from '../servers/echo-server.ts';
import { firstPage, pageItems, type Walk } from './reads-walk.ts';
import type { SteadyRow } from './run-rows.ts';

/** One line of the table: a server and its requests. */
export interface ReadRow extends SteadyRow {
  readonly kind: 'express' | 'rest' | 'mcp';
  readonly plan: Omit<LoadPlan, 'until' | 'connections'>;
}

/** Every page of the walk in random order: from Express, by the partner API, and by the equivalent MCP tool. */
export async function readRows(
  context: BenchContext,
  { site, walk, stack }: { site: RiskSite; walk: Walk; stack: ReleaseStack },
): Promise<ReadRow[]> {
  const pageFile = join(context.folder, 'reads-express-page.json');
  writeFileSync(pageFile, walk.envelope);
  const express = await startEchoServer('express-page', pageFile);
  stack.own('Express', () => express.stop());
  const authorization = { Authorization: `Bearer ${site.keys.partner}` };
  const pages = pagesOf(walk);
  const watch: WatchedProcess[] = [
    { name: 'server', pid: site.surface.pid },
    { name: 'postgres', pid: context.postgres.pid, family: true },
    ...(context.redis === undefined ? [] : [{ name: 'redis', pid: context.redis.pid }]),
  ];
  const row = (
    more: Pick<ReadRow, 'name' | 'kind' | 'warmUpRequests'>,
    plan: Pick<LoadPlan, 'port' | 'headers' | 'requests' | 'watch'>,
  ): ReadRow => ({
    ...more,
    // A request of a list has its own path and body, and no key.
    plan: { ...plan, path: firstPage, body: '', keyPrefix: 'none', mustSay: `"count":${pageItems}` },
    ...{ warmUps: [], rounds: [], steady: [] },
  });
  return [
    row(
      { name: 'Express 5, the same page by res.json', kind: 'express', warmUpRequests: 20_000 },
      { port: express.port, headers: authorization, requests: pages, watch: [{ name: 'server', pid: express.pid }] },
    ),
    row(
      { name: 'partner API', kind: 'rest', warmUpRequests: 10_000 },
      { port: site.surface.port, headers: authorization, requests: pages, watch },
    ),
    row(
      { name: 'tool list_assets (MCP)', kind: 'mcp', warmUpRequests: 5_000 },
      { port: site.surface.port, headers: { ...authorization, ...mcpHeaders }, requests: toolCalls(walk), watch },
    ),
  ];
}

const mcpHeaders = { Accept: 'application/json, text/event-stream', 'Content-Type': 'application/json' };

const pagesOf = ({ cursors }: Walk): PlannedRequest[] => [
  { method: 'GET', path: firstPage },
  ...cursors.map((cursor): PlannedRequest => ({ method: 'GET', path: `${firstPage}&cursor=${cursor}` })),
];

const toolCalls = ({ cursors }: Walk): PlannedRequest[] =>
  [{}, ...cursors.map((cursor) => ({ cursor }))].map((from) => {
    const params = { name: 'list_assets', arguments: { limit: pageItems, ...from } };
    return {
      method: 'POST',
      path: '/mcp',
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
    };
  });
