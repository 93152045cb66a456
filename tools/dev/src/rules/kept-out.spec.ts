import { homedir } from 'node:os';
import { describe, expect, it } from '@jest/globals';
import { workspaceRoot } from '../workspace.ts';
import { projectFiles, readProjectFile } from './project-files.ts';

interface Rule {
  readonly what: string;
  readonly pattern: RegExp;
  /** Files that are exempt. */
  readonly except?: RegExp;
}

const literal = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&');

/** The package registry of this machine, unless it is the public one. */
function registryHost(): string | undefined {
  const registry = process.env['npm_config_registry'];
  if (registry === undefined || !URL.canParse(registry)) return undefined;
  const { host } = new URL(registry);
  return host.endsWith('npmjs.org') ? undefined : host;
}

const host = registryHost();
const specs = /\.spec\.ts$/;

const rules: readonly Rule[] = [
  { what: 'a path of one machine', pattern: /(^|[\s'"`(=])\/work\/[\w.-]+/m },
  { what: 'a path of one person', pattern: /(^|[\s'"`(=])\/(?:home|Users)\/[\w.-]+/m, except: specs },
  // A checkout directly below the root, such as /app, has too common a name to search for.
  ...(workspaceRoot.split('/').length < 3
    ? []
    : [{ what: 'the place of this checkout', pattern: new RegExp(literal(`${workspaceRoot}/`)) }]),
  ...(homedir() === '/root' ? [] : [{ what: 'a home folder', pattern: new RegExp(literal(`${homedir()}/`)) }]),
  ...(host === undefined ? [] : [{ what: 'the registry of one machine', pattern: new RegExp(literal(host)) }]),
  { what: 'a lock file with addresses', pattern: /"resolved": "https?:/ },
  { what: 'an unresolved merge', pattern: /^(?:<{7} |>{7} |\|{7} )/m },
  { what: 'a private key', pattern: /-----BEGIN (?:\w+ )?PRIVATE KEY-----\s+[A-Za-z0-9+/]{16}/, except: specs },
  { what: 'a TODO without an issue number', pattern: /\b(?:TO[D]O|FIX[M]E|X{3})\b(?!\(#\d+\))/ },
  { what: 'a focused test', pattern: /\b(?:it|test|describe)\.only\(|\bf(?:it|describe)\(/ },
];

const isText = (path: string): boolean => !/\.(?:png|ico|woff2?|gz|zip|der|bin)$/.test(path);

describe('forbidden content', () => {
  const files = projectFiles().filter(isText);

  it.each(rules)('$what', ({ pattern, except }) => {
    const own = 'tools/dev/src/rules/kept-out.spec.ts';
    const found = files.filter(
      (path) => path !== own && !(except?.test(path) ?? false) && pattern.test(readProjectFile(path)),
    );
    expect(found).toEqual([]);
  });
});
