interface CatalogueEntry {
  readonly status: number;
  readonly title: string;
  readonly description: string;
}

/**
 * Every error code that an API may send. Clients program against `code`; `title` is constant per code; `description`
 * gives the cause and what the caller can do. The docs and the OpenAPI documents are generated from this table, and
 * `AppError` accepts only its codes.
 */
export const CATALOGUE = {
  INVALID_JSON: {
    status: 400,
    title: 'The body is not valid JSON',
    description:
      'The body is empty, is not JSON in UTF-8 without a byte order mark, or holds a lone surrogate or a `__proto__` member. Send the body as RFC 8259 JSON.',
  },
  JSON_TOO_DEEP: {
    status: 400,
    title: 'The body is nested too deeply',
    description:
      'Arrays and objects are nested more than 64 levels deep, counting the outermost value as 1. The pointer names the first value that is too deep.',
  },
  DUPLICATE_MEMBER: {
    status: 400,
    title: 'An object holds one member twice',
    description:
      'Two members of one object have the same name, so that readers could disagree about its value. The pointer names the member.',
  },
  UNSAFE_NUMBER: {
    status: 400,
    title: 'A number would change its value',
    description:
      'A number is neither the decimal that RFC 8785 prints for its double nor a fraction of at most 17 significant digits. Send it with fewer digits, or as a string.',
  },
  INVALID_REQUEST: {
    status: 400,
    title: 'The request has the wrong shape',
    description: 'The body, the query or the path does not match the schema of the route. `errors` lists every fault.',
  },
  UNKNOWN_PARAMETER: {
    status: 400,
    title: 'A query parameter is unknown or repeated',
    description: 'Only the documented query parameters are taken, each once. `errors` names the others.',
  },
  INVALID_LIMIT: {
    status: 400,
    title: 'The limit is not valid',
    description: '`limit` must be a whole number, without sign or leading zero, within the range of the route.',
  },
  INVALID_CURSOR: {
    status: 400,
    title: 'The cursor is not valid',
    description:
      'The cursor was not made by this service for this list, these filters and this caller, or it has expired. Start again from the first page.',
  },
  INVALID_HEADER: {
    status: 400,
    title: 'A header is not valid',
    description: 'A header that may be sent once was sent more than once, or its value has the wrong form.',
  },
  IDEMPOTENCY_KEY_REQUIRED: {
    status: 400,
    title: 'An Idempotency-Key is required',
    description:
      'This route takes effect at most once per Idempotency-Key. Send a value of your choice that is unique to this request.',
  },
  INVALID_IDEMPOTENCY_KEY: {
    status: 400,
    title: 'The Idempotency-Key is not valid',
    description:
      'Send the header once, with 1 to 255 visible ASCII characters, bare or as one quoted string without parameters.',
  },
  UNAUTHENTICATED: {
    status: 401,
    title: 'Authentication is required',
    description:
      'The key is missing, malformed, unknown, expired or revoked, or was sent in the wrong place. All these cases get the same answer.',
  },
  FORBIDDEN: {
    status: 403,
    title: 'The key may not do this',
    description: 'The key is valid and lacks the permission that this request needs.',
  },
  ASSET_TYPE_NOT_ALLOWED: {
    status: 403,
    title: 'This type may not be written',
    description:
      'A record has a type outside the allowed types of the key or of the source. Nothing of the request was written.',
  },
  ORIGIN_NOT_ALLOWED: {
    status: 403,
    title: 'The origin is not allowed',
    description:
      'The Host or Origin header is missing, or none that this listener accepts; `detail` says which one it asks for.',
  },
  TLS_REQUIRED: {
    status: 403,
    title: 'TLS is required',
    description:
      'The request reached the service over plain HTTP. Send it over HTTPS, and replace the key that was exposed.',
  },
  NOT_FOUND: {
    status: 404,
    title: 'Not found',
    description: 'There is nothing at this path, or nothing that this caller may see. The two are not told apart.',
  },
  METHOD_NOT_ALLOWED: {
    status: 405,
    title: 'The method is not allowed here',
    description: 'The path exists and does not serve this method. The `Allow` header lists those it serves.',
  },
  NOT_ACCEPTABLE: {
    status: 406,
    title: 'The answer cannot be sent in an accepted form',
    description: 'The Accept header must admit `application/json` or `text/event-stream` on this endpoint.',
  },
  REQUEST_TIMEOUT: {
    status: 408,
    title: 'The request was not completed in time',
    description: 'The whole request did not arrive within the time allowed. The connection is closed.',
  },
  IDEMPOTENCY_IN_PROGRESS: {
    status: 409,
    title: 'The first request is still running',
    description:
      'Another request with the same Idempotency-Key has not finished yet. Send this one again after `Retry-After`.',
  },
  RECORD_CONFLICT: {
    status: 409,
    title: 'The id is taken by other content',
    description: 'A record with this id exists with other content. Records never change; nothing was written.',
  },
  INVALID_STATE_TRANSITION: {
    status: 409,
    title: 'The state does not allow this',
    description: 'The resource is in a state from which this change is not possible.',
  },
  DECISION_CONFLICT: {
    status: 409,
    title: 'Another outcome was already recorded',
    description: 'A decision under this policy version exists with another outcome.',
  },
  ATTACHMENT_CONFLICT: {
    status: 409,
    title: 'The reference has another hash',
    description: 'The same attachment reference is known, or was sent, with another SHA-256.',
  },
  POLICY_VERSION_RETIRED: {
    status: 409,
    title: 'The policy version is retired',
    description: 'No new decision can be made under this policy version.',
  },
  CASE_NOT_DECIDED: {
    status: 409,
    title: 'The case is not decided',
    description: 'The case has no current decision under this policy version, so there is nothing to seal.',
  },
  CASE_NOT_SEALED: {
    status: 409,
    title: 'The case is not sealed',
    description: 'The pack can be exported once the case is sealed; until then ask for a draft.',
  },
  ALREADY_EXISTS: {
    status: 409,
    title: 'It already exists',
    description: 'Something with this id exists, or the key was already replaced once.',
  },
  IN_USE: {
    status: 409,
    title: 'It is in use',
    description: 'It cannot be changed or removed while something depends on it.',
  },
  LIMIT_REACHED: {
    status: 409,
    title: 'The most that may exist do exist',
    description: 'Remove or revoke one before making another.',
  },
  SNAPSHOT_EXPIRED: {
    status: 410,
    title: 'The snapshot has expired',
    description: 'The snapshot is too old to be read. Start again without it.',
  },
  PRECONDITION_FAILED: {
    status: 412,
    title: 'The resource has changed',
    description:
      'The version that If-Match or the body names is no longer current. Read the resource again and decide anew.',
  },
  PAYLOAD_TOO_LARGE: {
    status: 413,
    title: 'The body is too large',
    description: 'The body, once inflated, is larger than this route takes.',
  },
  BATCH_TOO_LARGE: {
    status: 413,
    title: 'The batch holds too many items',
    description: 'Split the batch. Nothing of it was written.',
  },
  UNSUPPORTED_MEDIA_TYPE: {
    status: 415,
    title: 'The media type is not supported',
    description:
      'Send `Content-Type: application/json`, in UTF-8, with at most one of the gzip, deflate and br encodings.',
  },
  IDEMPOTENCY_KEY_REUSED: {
    status: 422,
    title: 'The Idempotency-Key belongs to another request',
    description: 'The key was used before with another method, path or body. Choose a new key for a new request.',
  },
  IDEMPOTENCY_KEY_MISMATCH: {
    status: 422,
    title: 'The Idempotency-Key does not fit the resource',
    description: 'This route prescribes the value of the Idempotency-Key, and another was sent.',
  },
  UNKNOWN_CHAINCODE: {
    status: 422,
    title: 'No chaincode is mapped to this type',
    description: 'The asset type has no chaincode mapping on this peer. Nothing was written.',
  },
  UNKNOWN_CHANNEL: {
    status: 422,
    title: 'The network has no such channel',
    description: 'A record names a target channel that its network does not have. Nothing was written.',
  },
  UNKNOWN_POLICY_VERSION: {
    status: 422,
    title: 'The policy version is unknown',
    description: 'There is no usable policy with this version, or it has no rules and the request names no decision.',
  },
  UNKNOWN_VENUE: {
    status: 422,
    title: 'The venue is unknown',
    description: 'The request names a venue that does not exist in this environment.',
  },
  VAULT_BYTES_NOT_ALLOWED: {
    status: 422,
    title: 'Content must stay in the vault',
    description: 'The request carries content inline. Send a reference and its SHA-256 instead.',
  },
  PERSONAL_DATA_REFUSED: {
    status: 422,
    title: 'Personal data is not taken here',
    description: 'A text that partners can read looks like it holds personal data. The pointer names it.',
  },
  CONTRACT_REFUSED: {
    status: 422,
    title: 'The contract refused',
    description:
      'The contract of the ledger refused the call; nothing was written. `contractMessage` is its own message, at most 1 KiB, without control characters. The same call is refused again until the asset or the call changes.',
  },
  PRECONDITION_REQUIRED: {
    status: 428,
    title: 'If-Match is required',
    description: 'Send the version that you read as If-Match, so that no change of another is lost.',
  },
  RATE_LIMITED: {
    status: 429,
    title: 'Too many requests',
    description: 'A rate limit is used up. Send the request again after `Retry-After` seconds.',
  },
  INTERNAL: {
    status: 500,
    title: 'Something went wrong on our side',
    description: 'The service met a defect of its own. Name the request id when reporting it.',
  },
  UNREADABLE_ANSWER: {
    status: 502,
    title: 'The answer of the contract cannot be read',
    description:
      'The contract of the ledger answered, but not as the mapping describes it. Sending the request again does not help: an operator has to correct the mapping or the contract.',
  },
  UNAVAILABLE: {
    status: 503,
    title: 'The service is temporarily unavailable',
    description:
      'Something that the service needs is out of reach. Send the request again after `Retry-After` seconds.',
  },
  LEDGER_UNAVAILABLE: {
    status: 503,
    title: 'The ledger is out of reach',
    description:
      'The ledger could not be asked, so nothing was acknowledged. Send the request again after `Retry-After` seconds.',
  },
  RECORD_ARCHIVED: {
    status: 503,
    title: 'The record lies in an archive that cannot be read here',
    description:
      'The record is there and still proved, in the files of an archive that this process has not, or cannot read. Ask the operator of the ledger; sending the request again helps only where another process answers.',
  },
  OUTCOME_UNKNOWN: {
    status: 503,
    title: 'The outcome is not known yet',
    description:
      'The write may or may not have taken effect. Send the same request again with the same Idempotency-Key; it takes effect once.',
  },
  OVERLOADED: {
    status: 503,
    title: 'The service is overloaded',
    description: 'The queue is full and the request was not started. Send it again after `Retry-After` seconds.',
  },
} as const satisfies Readonly<Record<string, CatalogueEntry>>;
