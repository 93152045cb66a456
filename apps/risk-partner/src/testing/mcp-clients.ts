import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as FirstClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as FirstTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

/** The clients of MCP that agents embed: most have version 1 of the SDK, others version 2 by one of two revisions. */
export const CLIENT_KINDS = ['of version 1', 'of version 2 by 2025-11-25', 'of version 2 by 2026-07-28'] as const;
export type ClientKind = (typeof CLIENT_KINDS)[number];

/** A connected client of the tools. All kinds have the methods that tests call. */
export async function mcpClient(baseUrl: string, key: string, kind: ClientKind): Promise<Client> {
  const url = new URL(`${baseUrl}/mcp`);
  const requestInit = { headers: { authorization: `Bearer ${key}` } };
  const about = { name: 'spec', version: '1.0.0' };
  if (kind === 'of version 1') {
    const client = new FirstClient(about);
    await client.connect(new FirstTransport(url, { requestInit }));
    return client as unknown as Client; // Not the same types, but the same methods.
  }
  const mode = kind.endsWith('2025-11-25') ? 'legacy' : { pin: '2026-07-28' };
  const client = new Client(about, { versionNegotiation: { mode } });
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit }));
  return client;
}
