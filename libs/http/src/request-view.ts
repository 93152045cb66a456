import type { Request } from 'express';
import type { AuthRequest, LookedAhead } from './guard.ts';
import { headerValues } from './request-headers.ts';

/** What authentication sees of a request. */
export class RequestView implements AuthRequest {
  readonly #request: Request;
  ahead: LookedAhead | undefined = undefined;

  constructor(request: Request) {
    this.#request = request;
  }

  header(name: string): readonly string[] {
    return headerValues(this.#request.rawHeaders, name);
  }

  get socketAddress(): string {
    return this.#request.socket.remoteAddress ?? '';
  }

  get clientAddress(): string {
    return this.#request.ip ?? this.socketAddress;
  }
}
