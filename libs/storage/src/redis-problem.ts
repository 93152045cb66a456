/** Errors of OpenSSL by which a certificate was refused here, by what is wrong with it. */
const CERTIFICATE_FAULTS: readonly [codes: readonly string[], fault: string][] = [
  [
    [
      'SELF_SIGNED_CERT_IN_CHAIN',
      'DEPTH_ZERO_SELF_SIGNED_CERT',
      'UNABLE_TO_GET_ISSUER_CERT',
      'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
      'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    ],
    'the certificate of Redis is by an authority that is not trusted here',
  ],
  [['CERT_HAS_EXPIRED'], 'the certificate of Redis has expired'],
  [['ERR_TLS_CERT_ALTNAME_INVALID'], 'the certificate of Redis is not for the host that was connected to'],
];

const RULE = 'its rule is in infra/operations/run-on-redis.md';
const NO_COMMAND = /no permissions to run the '([^']+)' command/;
const NO_SCRIPT_COMMAND = /can't run this command/;
const NO_KEY = /permissions to access (one of the|a) key|can't access at least one of the keys/i;
const NO_CHANNEL = /permissions to access one of the channels|permissions to access a channel/i;
const NO_LOGIN = /^(WRONGPASS|NOAUTH|ERR invalid password)/;
const NO_PRIMARY = /No such master/i;
const OF_SENTINELS = /^All sentinels are unreachable\..*?(?:Last error: (.*))?$/s;

/**
 * What Redis refuses to the user of REDIS_URL, as one sentence; undefined for other errors. A refusal lasts until an
 * operator changes the user, so that a caller who may ignore an outage must report it.
 */
export function redisRefusal(error: unknown): string | undefined {
  const text = messageOf(error);
  if (NO_LOGIN.test(text)) return 'Redis refuses the password, or the user, of REDIS_URL';
  const [, command] = NO_COMMAND.exec(text) ?? [];
  if (command !== undefined) return `the user of REDIS_URL may not run ${command} (${RULE})`;
  if (NO_SCRIPT_COMMAND.test(text)) return `the user of REDIS_URL may not run a command of our scripts (${RULE})`;
  return NO_KEY.test(text) ? `the user of REDIS_URL may not use a key that is needed here (${RULE})` : undefined;
}

/** Why Redis cannot be used, as one sentence without user, password, key or address: C serves readiness in public. */
export function redisProblem(error: unknown): string {
  const lasting = lastingProblem(error);
  if (lasting !== undefined) return lasting;
  const text = briefly(causeOf(error));
  const sentinels = OF_SENTINELS.exec(text);
  if (sentinels !== null) return `no sentinel answers: ${sentinels[1] ?? 'none was asked yet'}`;
  return text.startsWith('Redis ') ? text : `Redis is away: ${text}`;
}

/** The problem if it lasts until an operator acts; undefined for an outage. */
export function lastingProblem(error: unknown): string | undefined {
  const cause = causeOf(error);
  const text = messageOf(cause);
  const sentinels = OF_SENTINELS.exec(text);
  return sentinels === null ? (redisRefusal(cause) ?? tlsProblem(cause, text)) : sentinelProblem(sentinels[1]);
}

/** Whether the error says no more than that a connection is closed. */
export const isOnlyClosed = (error: unknown): boolean => /Connection is closed\.$/.test(messageOf(causeOf(error)));

/** Whether the error says less than an earlier one: the other side ended a connection, or a round began. */
export const saysLittle = (error: unknown): boolean =>
  /ECONNRESET|EPIPE|is closed|^All sentinels are unreachable\.[^:]*$/.test(messageOf(causeOf(error)));

/** Of a cluster of which no node answered, the error of the last one. */
const causeOf = (error: unknown): unknown =>
  error instanceof Error && 'lastNodeError' in error && error.lastNodeError instanceof Error
    ? error.lastNodeError
    : error;

function sentinelProblem(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  return NO_PRIMARY.test(text) ? 'no sentinel knows a primary of the name in REDIS_URL' : ofSentinels(text);
}

/** What a sentinel refuses; undefined for other errors. */
export const sentinelRefusal = (error: unknown): string | undefined => ofSentinels(messageOf(error));

function ofSentinels(text: string): string | undefined {
  if (NO_LOGIN.test(text)) return 'the sentinels refuse the password, or the user, that REDIS_URL has for them';
  if (NO_CHANNEL.test(text))
    return `the user for the sentinels may not listen to a channel that is needed here (${RULE})`;
  const [, command] = NO_COMMAND.exec(text) ?? [];
  return command === undefined ? undefined : `the user for the sentinels may not run ${command} (${RULE})`;
}

function tlsProblem(error: unknown, text: string): string | undefined {
  const { code } = error as { readonly code?: unknown };
  if (typeof code !== 'string') return undefined;
  const [, fault] = CERTIFICATE_FAULTS.find(([codes]) => codes.includes(code)) ?? [];
  if (fault !== undefined) return fault;
  if (/CERTIFICATE_REQUIRED|HANDSHAKE_FAILURE/.test(code) && /alert/i.test(code))
    return 'Redis wants a client certificate (certFile and keyFile in REDIS_URL)';
  return code.startsWith('ERR_SSL') || code === 'EPROTO' ? `no TLS with Redis: ${text}` : undefined;
}

/** Without what the system, or a node that redirects, adds to its code. */
function briefly(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return /^E[A-Z_]+$/.test(code) ? code : messageOf(error).replace(/(Too many Cluster redirections)\..*/s, '$1');
}

/** Of several addresses that were tried, the error has a code alone. */
function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.message !== '') return error.message;
  return 'code' in error ? String(error.code) : error.name;
}
