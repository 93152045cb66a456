import { resolve } from 'node:path';
import { isObject, textOf, type JsonObject } from '../json-object.ts';

/** A connection file of the ledger peer, made of what an operator has. */
export interface ImportedConnection {
  readonly connection: {
    readonly mspId?: string;
    readonly certFile?: string;
    readonly keyFile?: string;
    readonly mspFolder?: string;
    readonly identities?: readonly { readonly name: string; readonly certFile?: string; readonly keyFile?: string }[];
    readonly default?: string;
    readonly peers: readonly ImportedPeer[];
    readonly channels: readonly ImportedChannel[];
  };
  /** PEM that the profile holds, by the name of a file beside the connection file. */
  readonly pems: ReadonlyMap<string, string>;
  /** What was not taken, a sentence each. */
  readonly left: readonly string[];
}

export interface ImportedChannel {
  readonly name: string;
  readonly holds?: readonly string[];
}

export interface ImportedPeer {
  readonly endpoint: string;
  readonly tlsCaFile?: string;
  readonly tlsCertFile?: string;
  readonly tlsKeyFile?: string;
  readonly serverNameOverride?: string;
}

export interface ProfileOptions {
  /** Its paths are relative to this folder. */
  readonly folder: string;
  /** Default: that of `client`, or the only one. */
  readonly organization: string | undefined;
  /** Signs in place of what the profile names. */
  readonly mspFolder: string | undefined;
  /** With Fabric's names. Default: those of the profile. */
  readonly channels: readonly ImportedChannel[];
}

/** Members whose absence from a connection file needs no word. */
const TAKEN = new Set(['name', 'version', 'description', 'client', 'organizations', 'peers', 'channels']);
const WHY_LEFT: Readonly<Record<string, string>> = {
  orderers: 'the gateway peers know the orderers',
  certificateAuthorities: 'certificates are files here; renew them with the tools of the authority',
};

/**
 * A common connection profile of Fabric's SDKs, as its samples and operators write it, as a connection file. Nothing is
 * guessed: what is missing stays out, and is found by the check of the file.
 */
export function importProfile(profile: JsonObject, options: ProfileOptions): ImportedConnection {
  return new ProfileReader(profile, options).read();
}

interface User {
  readonly name: string;
  readonly cert: JsonObject[string];
  readonly key: JsonObject[string];
}

class ProfileReader {
  readonly #profile: JsonObject;
  readonly #options: ProfileOptions;
  readonly #pems = new Map<string, string>();
  readonly #left: string[] = [];

  constructor(profile: JsonObject, options: ProfileOptions) {
    this.#profile = profile;
    this.#options = options;
  }

  read(): ImportedConnection {
    const [orgName, org] = this.#organization();
    const { channels } = this.#options;
    const named = Object.keys(membersOf(this.#profile['channels'])).map((name) => ({ name }));
    const connection = {
      ...textMember('mspId', textOf(org['mspid'])),
      ...this.#signers(org),
      peers: this.#peers(orgName, org),
      channels: channels.length > 0 ? channels : named,
    };
    for (const name of Object.keys(this.#profile).filter((member) => !TAKEN.has(member)))
      this.#left.push(`${name}: ${WHY_LEFT[name] ?? 'unknown here'}.`);
    return { connection, pems: this.#pems, left: this.#left };
  }

  #organization(): [string, JsonObject] {
    const all = membersOf(this.#profile['organizations']);
    const names = Object.keys(all);
    const wanted = this.#options.organization ?? textOf(membersOf(this.#profile['client'])['organization']);
    const name = wanted === '' && names.length === 1 ? names[0]! : wanted;
    if (!Object.hasOwn(all, name)) this.#left.push(`organizations: none is named "${name}" (${names.join(', ')}).`);
    return [name, membersOf(all[name])];
  }

  /**
   * Who signs: the folder that was given, or the users of the organisation, of which the first one is the default, or its
   * administrator.
   */
  #signers(
    org: JsonObject,
  ): Pick<ImportedConnection['connection'], 'mspFolder' | 'certFile' | 'keyFile' | 'identities' | 'default'> {
    const { mspFolder } = this.#options;
    if (mspFolder !== undefined) return { mspFolder };
    const users = Object.entries(membersOf(org['users'])).map(([name, user]) => {
      const { cert = null, key = null } = membersOf(user);
      return { name, cert, key };
    });
    const whole = users.filter(({ cert, key }) => isObject(cert) && isObject(key));
    const admin = { name: 'admin', cert: org['signedCert'] ?? null, key: org['adminPrivateKey'] ?? null };
    const [first = users[0] ?? admin, ...others] = whole;
    for (const user of users.filter((each) => each !== first && !others.includes(each)))
      this.#left.push(`users.${user.name}: it has no certificate and key.`);
    if (typeof org['cryptoPath'] === 'string')
      this.#left.push(`cryptoPath: name the folder of who signs with --msp-folder (${org['cryptoPath']}).`);
    if (others.length === 0) return this.#filesOf(first);
    const identities = [first, ...others].map((user) => ({ name: user.name, ...this.#filesOf(user) }));
    return { identities, default: first.name };
  }

  #filesOf({ name, cert, key }: User): { certFile?: string; keyFile?: string } {
    const [certFile, keyFile] = [this.#file(cert, `${name}.cert.pem`), this.#file(key, `${name}.key.pem`)];
    return { ...textMember('certFile', certFile), ...textMember('keyFile', keyFile) };
  }

  #peers(orgName: string, org: JsonObject): ImportedPeer[] {
    const all = membersOf(this.#profile['peers']);
    const own = Array.isArray(org['peers']) ? org['peers'].map(textOf) : Object.keys(all);
    const others = Object.keys(all).filter((name) => !own.includes(name));
    if (others.length > 0)
      this.#left.push(`peers ${others.join(', ')}: not of ${orgName}; its own peers ask them for endorsements.`);
    return own.flatMap((name) => {
      const peer = this.#peer(name, membersOf(all[name]));
      if (peer === undefined) this.#left.push(`peers.${name}: it has no url such as grpcs://host:port.`);
      return peer ?? [];
    });
  }

  #peer(name: string, peer: JsonObject): ImportedPeer | undefined {
    const found = /^(grpcs?):\/\/([^/\s]+:\d+)\/?$/.exec(textOf(peer['url']));
    if (found === null) return undefined;
    const [, scheme, endpoint = ''] = found;
    const { 'ssl-target-name-override': target, hostnameOverride, ...others } = membersOf(peer['grpcOptions']);
    for (const option of Object.keys(others)) this.#left.push(`peers.${name}.grpcOptions.${option}: unknown here.`);
    if (scheme === 'grpc') return { endpoint };
    const override = textOf(target ?? hostnameOverride);
    const isNeeded = override !== '' && override !== endpoint.slice(0, endpoint.lastIndexOf(':'));
    return {
      endpoint,
      ...textMember('tlsCaFile', this.#file(peer['tlsCACerts'], `${name}.tls-ca.pem`)),
      ...this.#clientTls(),
      ...(isNeeded ? { serverNameOverride: override } : {}),
    };
  }

  /** For peers that require a client certificate. */
  #clientTls(): Pick<ImportedPeer, 'tlsCertFile' | 'tlsKeyFile'> {
    const { cert, key } = membersOf(membersOf(membersOf(this.#profile['client'])['tlsCerts'])['client']);
    return {
      ...textMember('tlsCertFile', this.#file(cert, 'client-tls.cert.pem')),
      ...textMember('tlsKeyFile', this.#file(key, 'client-tls.key.pem')),
    };
  }

  /** A file that the profile names, or one of `name` with the PEM that it holds; empty if it has neither. */
  #file(given: JsonObject[string] | undefined, name: string): string {
    const { path, pem } = membersOf(given);
    if (typeof path === 'string' && path.includes('${'))
      this.#left.push(`${path}: the path has a variable; put the file in its place.`);
    else if (typeof path === 'string' && path !== '') return resolve(this.#options.folder, path);
    const text = Array.isArray(pem) ? pem.map(textOf).join('\n') : textOf(pem);
    if (text === '') return '';
    const file = name.replace(/[^\w.-]/g, '_');
    this.#pems.set(file, text.endsWith('\n') ? text : `${text}\n`);
    return file;
  }
}

const membersOf = (value: JsonObject[string] | undefined): JsonObject => (isObject(value) ? value : {});

const textMember = <Name extends string>(name: Name, text: string): Partial<Record<Name, string>> =>
  text === '' ? {} : ({ [name]: text } as Partial<Record<Name, string>>);
