import type { JsonValue } from '@sealgate/json';

/** What a handler answers. The library adds every header that holds on all answers. */
export interface Reply {
  readonly status: number;
  /**
   * A string or Buffer is sent as it is, so a handler that must be fast, or whose bytes were hashed, renders its own
   * JSON. Anything else is rendered with JSON.stringify. Absent: no body.
   */
  readonly body?: string | Buffer | JsonValue | object;
  /** Further headers. `Cache-Control` replaces the `no-store` that is sent otherwise. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Absent: `application/json`. */
  readonly contentType?: string;
}
