import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import type { JsonValue } from '@sealgate/json';
import { Option } from 'commander';
import type { CodeCommand } from '../command-spec.ts';
import { EXIT_CODES, UnwritableError, UsageError } from '../errors.ts';
import { isObject, type JsonObject } from '../json-object.ts';
import { readNamed } from '../read-named.ts';
import { printable } from '../row-table.ts';

interface TrustOptions {
  readonly old?: string;
  readonly out?: string;
}

export const trust: CodeCommand<TrustOptions> = {
  summary:
    'Make the trust file of a Fabric channel, for sealgate-verify fabric: exit code 3 if it differs from an older one',
  details:
    'CHANNEL is one of the ledger (<networkId>.<name>) that a mapping stores in our contract. A running ledger peer asks a peer for the configuration of the channel: roots, intermediates, revocation lists and roles of each organisation, and the endorsement policy of the contract. That peer is believed: before you pin the file, compare its fingerprints, which are on standard error, with what the organisations tell you themselves. With --old the differences to an older file are told too.',
  examples: [
    'sealgate fabric trust acme.main --out channel.json',
    'sealgate fabric trust acme.main --old channel.json > channel.new.json',
  ],
  options: [
    new Option('--old <file>', 'an older trust file of the channel, to compare with'),
    new Option('--out <file>', 'write the file here, in place of standard output; an existing one is kept'),
  ],
  run: async (session, [channel = ''], { old, out }) => {
    const before = old === undefined ? undefined : readTrust(old);
    const path = `/fabric/trust?channel=${encodeURIComponent(channel)}`;
    const { value } = await session.api.json({ method: 'GET', path });
    for (const line of fingerprintsOf(value)) session.note(`${line}\n`);
    const differences = before === undefined ? [] : differencesOf(before, value);
    for (const line of differences) session.note(`${line}\n`);
    const text = `${JSON.stringify(value, null, 2)}\n`;
    if (out === undefined) session.say(text.trimEnd());
    else writeNew(out, text);
    return differences.length === 0 ? EXIT_CODES.done : EXIT_CODES.auditFailed;
  },
};

function readTrust(file: string): JsonObject {
  let value: JsonValue | undefined;
  try {
    value = JSON.parse(readNamed(file).toString('utf8')) as JsonValue;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  if (!isObject(value) || value['kind'] !== 'fabric-trust') throw new UsageError(`${file} is no trust file.`);
  return value;
}

function writeNew(file: string, text: string): void {
  try {
    writeFileSync(file, text, { flag: 'wx' });
  } catch (error) {
    throw new UnwritableError(file, error);
  }
}

/** What is trusted, one thing a line: its name, and what it is. */
type Facts = ReadonlyMap<string, string>;

const KINDS = { roots: 'root', intermediates: 'intermediate', revocationLists: 'revocation list' };
const listOf = (value: JsonValue | undefined): JsonValue[] => (Array.isArray(value) ? value : []);
const objectsIn = (value: JsonValue | undefined): JsonObject[] => listOf(value).filter(isObject);

function factsOf({ organizations, chaincodes }: JsonObject): Facts {
  const facts = new Map<string, string>();
  for (const { mspId, units, ...lists } of objectsIn(organizations)) {
    for (const [member, kind] of Object.entries(KINDS)) {
      for (const pem of listOf(lists[member]))
        facts.set(`${String(mspId)}: ${kind} SHA-256 ${fingerprint(String(pem))}`, '');
    }
    facts.set(`${String(mspId)}: roles`, rolesText(units));
  }
  for (const { name, policy } of objectsIn(chaincodes)) facts.set(`${String(name)}: policy`, JSON.stringify(policy));
  return facts;
}

/** `peer by OU peer, admin by OU admin of SHA-256 ...`: the issuer, where one is named, by its fingerprint. */
function rolesText(units: JsonValue | undefined): string {
  if (!isObject(units)) return 'none';
  const texts = Object.entries(units).map(([role, by]) => {
    const { unit, issuer } = isObject(by) ? by : {};
    const of = typeof issuer === 'string' ? ` of SHA-256 ${fingerprint(issuer)}` : '';
    return `${role} by OU ${String(unit)}${of}`;
  });
  return texts.join(', ');
}

/** Of the DER bytes of a PEM text, as `openssl x509 -fingerprint -sha256` shows it. */
function fingerprint(pem: string): string {
  const der = Buffer.from(pem.replaceAll(/-----[^-]+-----|\s/g, ''), 'base64');
  const hex = createHash('sha256').update(der).digest('hex').toUpperCase();
  return hex.replaceAll(/..(?!$)/g, '$&:');
}

const factText = ([name, what]: readonly [string, string]): string => printable(what === '' ? name : `${name} ${what}`);

const fingerprintsOf = (trusted: JsonObject): string[] => [...factsOf(trusted)].map(factText);

/** What was added, removed or changed; the block of the configuration alone is no difference. */
function differencesOf(before: JsonObject, now: JsonObject): string[] {
  const [old, fresh] = [factsOf(before), factsOf(now)];
  const isChannelSame = before['channel'] === now['channel'];
  return [
    ...(isChannelSame ? [] : [printable(`changed: the channel was ${String(before['channel'])}`)]),
    ...[...old].filter(([name]) => !fresh.has(name)).map((fact) => `removed: ${factText(fact)}`),
    ...[...fresh].filter(([name]) => !old.has(name)).map((fact) => `added: ${factText(fact)}`),
    ...[...fresh]
      .filter(([name, what]) => old.has(name) && old.get(name) !== what)
      .map((fact) => `changed: ${factText(fact)}`),
  ];
}
