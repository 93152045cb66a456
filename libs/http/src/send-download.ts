import { once } from 'node:events';
import type { ServerResponse } from 'node:http';

/**
 * Streams a text of any length as a download, in the handler of a raw route. A chunk is asked for once the client has
 * taken the ones before it, so a slow reader costs one chunk of memory. Ends early when the client leaves, and for a HEAD,
 * which has no body. Nothing is sent before there is a first chunk: what fails until then is a problem document.
 */
export async function sendDownload(
  response: ServerResponse,
  { contentType, fileName, chunks }: DownloadOptions,
): Promise<void> {
  const headers = { 'Content-Type': contentType, 'Content-Disposition': `attachment; filename="${fileName}"` };
  if (response.req.method === 'HEAD') return void response.writeHead(200, headers).end();
  for await (const chunk of chunks) {
    if (response.destroyed) return;
    if (!response.headersSent) response.writeHead(200, headers);
    if (chunk !== '' && !response.write(chunk)) await drained(response);
  }
  if (!response.headersSent) response.writeHead(200, headers);
  response.end();
}

interface DownloadOptions {
  readonly contentType: string;
  /** In ASCII, without quotes. */
  readonly fileName: string;
  readonly chunks: AsyncIterable<string>;
}

/** Resolves once more may be written, or the client has left. */
async function drained(response: ServerResponse): Promise<void> {
  if (response.destroyed) return;
  const waiting = new AbortController();
  const until = (event: string) => once(response, event, { signal: waiting.signal }).catch(() => undefined);
  await Promise.race([until('drain'), until('close')]);
  waiting.abort();
}
