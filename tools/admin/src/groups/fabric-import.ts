import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { JsonValue } from '@sealgate/json';
import { Option } from 'commander';
import { listOption, type CodeCommand } from '../command-spec.ts';
import { UnwritableError, UsageError } from '../errors.ts';
import { isObject, type JsonObject } from '../json-object.ts';
import { readNamed } from '../read-named.ts';
import { printable } from '../row-table.ts';
import { importProfile, type ImportedChannel, type ImportedConnection } from './fabric-profile.ts';

interface ImportOptions {
  readonly out?: string;
  readonly organization?: string;
  readonly mspFolder?: string;
  readonly mspId?: string;
  readonly peer?: readonly string[];
  readonly channel?: readonly string[];
}

export const importConnection: CodeCommand<ImportOptions> = {
  summary: 'Write the connection file of a ledger peer from a common connection profile or the folder of an MSP',
  details:
    'SOURCE is a profile of Fabric\'s SDKs (JSON or YAML), or a folder with "signcerts" and "keystore" as Fabric\'s tools write it; a folder needs --msp-id, --peer and --channel. PEM that the profile holds is written beside the connection file. Existing files are not overwritten. What could not be taken is on standard error. Several users of a profile become identities, of which the first signs by default; "callers" says who signs as which. Which channels of the ledger a channel of Fabric holds (`acme.main`, or `acme.*` for several) is in no profile: name them after its name.',
  examples: [
    'sealgate fabric import connection-org1.yaml --msp-folder ./users/app/msp --channel mychannel=acme.main --out fabric.json',
    'sealgate fabric import ./users/app/msp --msp-id Org1MSP --peer peer0.org1.example.com:7051 --channel mychannel=acme.main --out fabric.json',
  ],
  options: [
    new Option('--out <file>', 'the connection file to write').makeOptionMandatory(),
    new Option('--organization <name>', "whose peers are asked; default: the profile's client"),
    new Option('--msp-folder <dir>', 'who signs, in place of what the profile names'),
    new Option('--msp-id <id>', 'the MSP id, in place of that of the profile'),
    listOption('--peer <host:port>', 'a gateway peer, for the folder of an MSP; TLS by its tlscacerts'),
    listOption(
      '--channel <name=holds>',
      "Fabric's name of a channel, and what it holds; default: those of the profile",
    ),
  ],
  isOffline: () => true,
  run: async (session, [source = ''], options) => {
    const { out = '' } = options;
    const { connection, pems, left } = isFolder(source)
      ? ofFolder(source, options)
      : ofProfile(await parsed(source), source, options);
    const path = resolve(out);
    const { ConnectionFileError, parseConnection } = await import('@sealgate/ledger-fabric');
    const content = { ...connection, ...(options.mspId === undefined ? {} : { mspId: options.mspId }) };
    for (const sentence of [...left, ...holdingNothing(content.channels)])
      session.note(`sealgate: not taken: ${printable(sentence)}\n`);
    try {
      parseConnection(content, path);
    } catch (error) {
      if (!(error instanceof ConnectionFileError)) throw error;
      throw new UsageError(`Nothing was written: ${printable(error.faults.join('; '))}.`, { cause: error });
    }
    for (const [name, text] of pems) writeNew(join(dirname(path), name), text);
    writeNew(path, `${JSON.stringify(content, null, 2)}\n`);
    const { identities = [], default: fallback = '' } = content;
    const signers = identities.length === 0 ? '' : ` Of ${identities.length} identities ${fallback} signs by default.`;
    session.say(
      `${out} has ${content.peers.length} peers and ${content.channels.length} channels.${printable(signers)}`,
    );
  },
};

function ofProfile(profile: JsonObject, source: string, options: ImportOptions): ImportedConnection {
  const { organization, mspFolder, peer = [], channel: channels = [] } = options;
  if (peer.length > 0) throw new UsageError('--peer is for the folder of an MSP: a profile names its peers.');
  return importProfile(profile, {
    folder: dirname(resolve(source)),
    organization,
    mspFolder: mspFolder === undefined ? undefined : resolve(mspFolder),
    channels: channels.map(channelOf),
  });
}

/** `mychannel=acme.main`, or without what it holds. */
function channelOf(text: string): ImportedChannel {
  const [name = '', ...holds] = text.split(/[=,]/);
  return holds.length === 0 ? { name } : { name, holds };
}

/** No mapping can use such a channel. */
const holdingNothing = (channels: readonly ImportedChannel[]): string[] =>
  channels
    .filter(({ holds }) => holds === undefined)
    .map(({ name }) => `channel ${name}: what it holds; add it, as in --channel ${name}=acme.main.`);

async function parsed(source: string): Promise<JsonObject> {
  const { parse } = await import('yaml');
  const text = readNamed(source).toString('utf8');
  let profile: JsonValue;
  try {
    profile = parse(text) as JsonValue; // JSON is YAML.
  } catch (error) {
    throw new UsageError(`${source} is neither JSON nor YAML.`, { cause: error });
  }
  if (!isObject(profile)) throw new UsageError(`${source} is not a connection profile.`);
  return profile;
}

/** The folder has who signs and the authorities of TLS. */
function ofFolder(source: string, { mspFolder, peer = [], channel = [] }: ImportOptions): ImportedConnection {
  if (mspFolder !== undefined) throw new UsageError('--msp-folder is for a profile: the source is a folder itself.');
  const folder = resolve(source);
  const [ca, ...others] = namesIn(join(folder, 'tlscacerts'));
  const tls = ca === undefined ? {} : { tlsCaFile: join(folder, 'tlscacerts', ca) };
  return {
    connection: {
      mspFolder: folder,
      peers: peer.map((endpoint) => ({ endpoint, ...tls })),
      channels: channel.map(channelOf),
    },
    pems: new Map(),
    left: [
      ...others.map((name) => `tlscacerts/${name}: peers are checked by ${ca}.`),
      ...(ca === undefined
        ? peer.map((endpoint) => `tlscacerts: there is none, so ${endpoint} is asked in plaintext.`)
        : []),
    ],
  };
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

function namesIn(folder: string): string[] {
  return isFolder(folder) ? readdirSync(folder).sort() : [];
}

/** Keys are among them: only their owner may read them. */
function writeNew(path: string, text: string): void {
  try {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text, { flag: 'wx', mode: 0o600 });
  } catch (error) {
    throw new UnwritableError(path, error);
  }
}
