import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';

/** A request that nobody sent, and its response, for what is only asked about a request. */
export function testExchange(): { readonly request: IncomingMessage; readonly response: ServerResponse } {
  const request = new IncomingMessage(new Socket());
  return { request, response: new ServerResponse(request) };
}
