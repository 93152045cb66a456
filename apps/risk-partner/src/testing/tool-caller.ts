import type { HttpCaller } from './http-caller.ts';

/** The outcome of a tool call: structured content, a JSON-RPC error, or an HTTP error. */
export interface ToolAnswer {
  readonly status: number;
  readonly isError: boolean;
  readonly content: Readonly<Record<string, unknown>>;
  readonly error: { readonly code: number } | undefined;
}

export const MCP_HEADERS = { accept: 'application/json, text/event-stream' };

/** Calls a tool over HTTP, and checks that structured content and text are equal. */
export async function callTool(
  api: HttpCaller,
  key: string | undefined,
  name: string,
  args: Readonly<Record<string, unknown>>,
): Promise<ToolAnswer> {
  const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } };
  const answer = await api.send('POST', '/mcp', { ...(key === undefined ? {} : { key }), body, headers: MCP_HEADERS });
  if (answer.status !== 200) {
    const content = answer.json as ToolAnswer['content'];
    return { status: answer.status, isError: true, content, error: undefined };
  }
  const { result, error } = answer.json as {
    result?: { content: [{ text: string }]; structuredContent: ToolAnswer['content']; isError?: boolean };
    error?: { code: number };
  };
  if (result === undefined) return { status: 200, isError: true, content: {}, error };
  const text: unknown = JSON.parse(result.content[0].text);
  if (JSON.stringify(text) !== JSON.stringify(result.structuredContent))
    throw new Error(`${name}: structuredContent is not what the text says.`);
  const isError = result.isError === true;
  const status = isError ? Number(result.structuredContent['status']) : 200;
  return { status, isError, content: result.structuredContent, error: undefined };
}
