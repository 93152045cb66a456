import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';

/** An unsent request and its response, for code that only inspects them. */
export function testExchange(): { readonly request: IncomingMessage; readonly response: ServerResponse } {
  const request = new IncomingMessage(new Socket());
  return { request, response: new ServerResponse(request) };
}
