import { describe, expect, it } from '@jest/globals';
import { lastingProblem, redisProblem, redisRefusal, saysLittle } from './redis-problem.ts';

const coded = (code: string, message = '') => Object.assign(new Error(message), { code });
const ofCluster = (lastNodeError: Error) =>
  Object.assign(new Error('Failed to refresh slots cache.'), { lastNodeError });

describe('what is wrong with Redis', () => {
  it.each([
    ['WRONGPASS invalid username-password pair or user is disabled.', /refuses the password, or the user/],
    ['NOAUTH Authentication required.', /refuses the password, or the user/],
    ["NOPERM this user has no permissions to run the 'mget' command", /may not run mget/],
    // Redis 6.
    ["NOPERM this user has no permissions to run the 'mget' command or its subcommand", /may not run mget/],
    // Redis 7.2, of a script.
    [
      "ERR ACL failure in script: User u has no permissions to run the 'set' command script: 1, on @x",
      /may not run set/,
    ],
    ["ERR The user executing the script can't run this command or subcommand script: 1", /a command of our scripts/],
    ['NOPERM No permissions to access a key', /may not use a key/],
    ["ERR The user executing the script can't access at least one of the keys mentioned", /may not use a key/],
  ])('is a refusal, which lasts: %s', (message, told) => {
    expect(redisRefusal(new Error(message))).toMatch(told);
    expect(lastingProblem(ofCluster(new Error(message)))).toMatch(told);
    expect(redisProblem(new Error(message))).toMatch(told);
  });

  it.each([
    [coded('SELF_SIGNED_CERT_IN_CHAIN'), /by an authority that is not trusted here/],
    [coded('CERT_HAS_EXPIRED'), /has expired/],
    [coded('ERR_TLS_CERT_ALTNAME_INVALID'), /is not for the host/],
    [coded('ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED'), /wants a client certificate/],
    [coded('ERR_SSL_WRONG_VERSION_NUMBER', 'wrong version number'), /no TLS with Redis: wrong version number/],
    [
      new Error('All sentinels are unreachable. Retrying from scratch after 20ms. Last error: WRONGPASS no'),
      /the sentinels refuse the password/,
    ],
    [
      new Error('All sentinels are unreachable. Retrying from scratch after 20ms. Last error: ERR No such master'),
      /no sentinel knows a primary of the name/,
    ],
  ])('lasts until somebody acts: %s', (error, told) => {
    expect(lastingProblem(error)).toMatch(told);
    expect(redisRefusal(error)).toBeUndefined();
  });

  it.each([
    [coded('ECONNREFUSED', 'connect ECONNREFUSED 10.0.0.1:6379'), 'Redis is away: ECONNREFUSED'],
    [coded('ENOTFOUND', 'getaddrinfo ENOTFOUND redis.internal'), 'Redis is away: ENOTFOUND'],
    [
      new Error('Too many Cluster redirections. Last error: ReplyError: MOVED 1 10.0.0.1:6379'),
      'Redis is away: Too many Cluster redirections',
    ],
    // Of several addresses that were tried.
    [coded('ECONNREFUSED'), 'Redis is away: ECONNREFUSED'],
    [ofCluster(new Error('connect ETIMEDOUT')), 'Redis is away: connect ETIMEDOUT'],
    [new Error('Redis did not answer within 100 ms.'), 'Redis did not answer within 100 ms.'],
    [
      new Error('All sentinels are unreachable. Retrying from scratch after 20ms. Last error: read ECONNRESET'),
      'no sentinel answers: read ECONNRESET',
    ],
    ['text', 'Redis is away: text'],
  ])('is an outage: %s', (error, told) => {
    expect(lastingProblem(error)).toBeUndefined();
    expect(redisProblem(error)).toBe(told);
  });

  it('is hidden by errors that say only that a connection ended, or that a round began', () => {
    const round = 'All sentinels are unreachable. Retrying from scratch after 20ms.';
    expect(['Connection is closed.', 'read ECONNRESET', round].map((text) => saysLittle(new Error(text)))).toEqual([
      true,
      true,
      true,
    ]);
    expect(saysLittle(new Error(`${round} Last error: WRONGPASS`))).toBe(false);
  });
});
