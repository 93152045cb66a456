import type { JsonValue } from '@sealgate/json';

/** What a handler answers. The library adds every header that holds on all answers. */
export interface Reply {
  readonly status: number;
  /**
   * A string or Buffer is sent as it is, so a handler that must be fast, or whose bytes were hashed, renders its own
   * JSON. Anything else is rendered with JSON.stringify. Absent: no body. A Buffer must not change afterwards: one that is
   * sent again is not compressed again.
   */
  readonly body?: string | Buffer | JsonValue | object;
  /** Further headers. `Cache-Control` replaces the `no-store` that is sent otherwise. */
  readonly headers?: Readonly<Record<string, string>>;
  /** It holds a raw key, a salt or the like: it is never compressed, because its length would tell of it (BREACH). */
  readonly holdsSecret?: true;
  /** It gets shorter by compression, whatever its media type; text and JSON are taken to. */
  readonly compresses?: true;
  /** Absent: `application/json`. */
  readonly contentType?: string;
}
