import { clientAddressOf, type RoutedRequest } from './direct-routes.ts';
import type { AuthRequest, LookedAhead } from './guard.ts';
import { headerValues } from './request-headers.ts';

/** What authentication sees of a request. */
export class RequestView implements AuthRequest {
  readonly #request: RoutedRequest;
  ahead: LookedAhead | undefined = undefined;

  constructor(request: RoutedRequest) {
    this.#request = request;
  }

  header(name: string): readonly string[] {
    return headerValues(this.#request.rawHeaders, name);
  }

  get socketAddress(): string {
    return this.#request.socket.remoteAddress ?? '';
  }

  get path(): string {
    return this.#request.path;
  }

  get clientAddress(): string {
    return clientAddressOf(this.#request) ?? this.socketAddress;
  }
}
