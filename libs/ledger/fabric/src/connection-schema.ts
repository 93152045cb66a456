import { Type, type Static } from '@sinclair/typebox';

const closed = { additionalProperties: false };
const milliseconds = (fallback: number, maximum = 600_000) =>
  Type.Optional(Type.Integer({ minimum: 1, maximum, default: fallback }));
const count = (fallback: number, maximum: number) =>
  Type.Optional(Type.Integer({ minimum: 1, maximum, default: fallback }));

const Peer = Type.Object(
  {
    /** `host:port` of a gateway peer. */
    endpoint: Type.String({ pattern: '^[^\\s/:]+:[0-9]{1,5}$|^\\[[0-9A-Fa-f:.]+\\]:[0-9]{1,5}$' }),
    /** PEM. Absent: plaintext, on loopback only. */
    tlsCaFile: Type.Optional(Type.String({ minLength: 1 })),
    /** PEM, both or neither: the client certificate for a peer that requires one, and its key. */
    tlsCertFile: Type.Optional(Type.String({ minLength: 1 })),
    tlsKeyFile: Type.Optional(Type.String({ minLength: 1 })),
    /** The name in the peer's TLS certificate where it is not that of the endpoint. */
    serverNameOverride: Type.Optional(Type.String({ minLength: 1 })),
  },
  closed,
);

const Channel = Type.Object(
  {
    /** Fabric's name of the channel. */
    name: Type.String({ pattern: '^[a-z][a-z0-9.-]{0,248}$' }),
    /**
     * Which of our channels (`<networkId>.<name>`) its `records` contract keeps: one alone (`acme.main`), those of a
     * network (`acme.*`), or all (`*`).
     */
    holds: Type.Optional(
      Type.Array(Type.String({ pattern: '^(\\*|[a-z0-9][a-z0-9-]{1,62}\\.(\\*|[a-z0-9-]{1,40}))$' }), {
        maxItems: 1000,
      }),
    ),
  },
  closed,
);

/** What a connection file says; see the README for every member. */
export const ConnectionFile = Type.Object(
  {
    mspId: Type.String({ minLength: 1, maxLength: 200 }),
    certFile: Type.String({ minLength: 1 }),
    keyFile: Type.String({ minLength: 1 }),
    /** In order of preference. */
    peers: Type.Array(Peer, { minItems: 1, maxItems: 32 }),
    channels: Type.Array(Channel, { minItems: 1, maxItems: 100 }),
    deadlinesMs: Type.Optional(
      Type.Object(
        {
          evaluate: milliseconds(5000),
          endorse: milliseconds(10_000),
          submit: milliseconds(5000),
          commitStatus: milliseconds(5000),
          /** For a caller of submit, all phases and attempts together. */
          answer: milliseconds(15_000),
        },
        closed,
      ),
    ),
    limits: Type.Optional(
      Type.Object(
        {
          /** Most calls to peers at once; a peer takes 500 of all its clients unless told otherwise. */
          window: count(200, 5000),
          /** Most callers that wait for a place in it. */
          queue: count(4096, 1_000_000),
          /** Most transactions that are journalled and not settled. */
          unsettled: count(20_000, 1_000_000),
          /** Most bytes of the arguments of one call. */
          callBytes: count(4 * 1024 * 1024, 64 * 1024 * 1024),
          /** Transactions in all, the first included, while others change the same keys. */
          conflictAttempts: count(8, 100),
        },
        closed,
      ),
    ),
  },
  closed,
);

export type ConnectionFileContent = Static<typeof ConnectionFile>;
