import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The hosts of the servers, as the surfaces know them. */
export const HOSTS = { one: 'one.chaos.test', two: 'two.chaos.test', redis: 'redis.chaos.test' } as const;

/** The same server, found by its name. */
export const redisByName = (url: string): string => Object.assign(new URL(url), { hostname: HOSTS.redis }).href;

/** DNS of the processes of a site: they look their servers up in it at each connection. */
export interface Names {
  /** For NODE_OPTIONS. */
  readonly nodeOptions: string;
  takeAway(): void;
  bringBack(): void;
}

/**
 * No test may change the resolver of its machine, so each process is started with these lines: names of `chaos.test` are
 * this machine, and while the file is there nothing resolves, with the error of a resolver that does not answer.
 */
const program = (gone: string): string => `
const dns = require('node:dns');
const { existsSync } = require('node:fs');
const real = dns.lookup;
const failure = (name) => Object.assign(new Error('getaddrinfo EAI_AGAIN ' + name), { code: 'EAI_AGAIN', syscall: 'getaddrinfo', hostname: name });
const answer = (options, done) => (options.all ? done(null, [{ address: '127.0.0.1', family: 4 }]) : done(null, '127.0.0.1', 4));
dns.lookup = function lookup(name, options, done = options) {
  const given = typeof options === 'object' ? options : {};
  if (existsSync(${JSON.stringify(gone)}) && !/^[0-9.:]+$/.test(name)) return process.nextTick(done, failure(name));
  if (/\\.chaos\\.test$/.test(name)) return process.nextTick(answer, given, done);
  return real.call(dns, name, options, done);
};
const together = dns.promises.lookup;
dns.promises.lookup = (name, options = {}) =>
  existsSync(${JSON.stringify(gone)}) && !/^[0-9.:]+$/.test(name) ? Promise.reject(failure(name)) : together.call(dns.promises, name, options);
require('node:module').syncBuiltinESMExports();
`;

/** Writes the program into `folder`. */
export function namesIn(folder: string): Names {
  const [file, gone] = [join(folder, 'names.cjs'), join(folder, 'names-gone')];
  writeFileSync(file, program(gone));
  return {
    nodeOptions: `--require=${file}`,
    takeAway: () => writeFileSync(gone, ''),
    bringBack: () => rmSync(gone, { force: true }),
  };
}
