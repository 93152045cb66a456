import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ServerCredentials } from '@grpc/grpc-js';
import { certificateAuthority, type Authority } from './certificates.ts';
import { channelConfig } from './channel-config.ts';
import { ChaincodeProcess } from './chaincode-process.ts';
import { ChannelLedger } from './channel-ledger.ts';
import { endorser } from './endorser.ts';
import { faultRegister } from './faults.ts';
import { membership } from './membership.ts';
import { Orderer } from './orderer.ts';
import { PeerListener } from './peer-listener.ts';
import type { PeerParts } from './peer-parts.ts';
import { Code } from './rpc-error.ts';
import type { ChannelView, FurtherPeer, StandInPeer, StandInPeerOptions } from './stand-in-types.ts';
import { StreamGate } from './send-blocks.ts';

const TEN_MEBIBYTES = 10 * 1024 * 1024;

/** Starts the peer and its chaincodes; resolves when they are ready. */
export async function startStandInPeer(options: StandInPeerOptions): Promise<StandInPeer> {
  const directory = mkdtempSync(join(tmpdir(), 'sealgate-fabric-'));
  const identities = identitiesIn(directory, options.mspId ?? 'Org1MSP');
  const isTls = options.tls ?? true;
  const tls = isTls ? serverTls(directory, options.tlsClientCa) : undefined;
  const parts = assemble(options, directory, identities);
  const listen = (its = parts) =>
    new PeerListener(its, options.concurrencyLimit ?? 500, tls?.credentials ?? ServerCredentials.createInsecure());
  const listeners = [listen()];
  const [listener] = listeners as [PeerListener];
  const close = async () => {
    for (const each of listeners) each.stop();
    await Promise.all([...parts.chaincodes.values()].map((chaincode) => chaincode.stop()));
    rmSync(directory, { recursive: true, force: true });
  };
  try {
    await Promise.all([...parts.chaincodes.values()].map((chaincode) => chaincode.start()));
    await listener.start();
  } catch (error) {
    await close();
    throw error;
  }
  return {
    get url() {
      return listener.url;
    },
    tlsCaFile: tls?.caFile,
    identity: identities.enroll('client'),
    directory,
    start: () => listener.start(),
    stop: async () => listener.stop(),
    close,
    addPeer: async () => {
      const { parts: its, lag, catchUp } = laggingParts(parts);
      const further = listen(its);
      listeners.push(further);
      await further.start();
      return { url: further.url, start: () => further.start(), stop: async () => further.stop(), lag, catchUp };
    },
    enroll: identities.enroll,
    channel: (name) => channelView(parts, name),
    faults: parts.faults,
    beginAt: (block) => {
      parts.snapshot.firstBlock = block;
    },
    orderer: ordererControl(parts.orderer),
    blockStreams: {
      hold: () => parts.streams.hold(),
      release: () => parts.streams.release(),
      cut: (status = { code: Code.UNAVAILABLE, message: 'stream cut' }) => parts.streams.cut(status),
    },
    chaincode: {
      kill: (name) => chaincodeNamed(parts, name).stop(),
      start: (name) => chaincodeNamed(parts, name).start(),
      freeze: (name) => chaincodeNamed(parts, name).signal('SIGSTOP'),
      thaw: (name) => chaincodeNamed(parts, name).signal('SIGCONT'),
      pid: (name) => chaincodeNamed(parts, name).pid,
    },
  };
}

function assemble(options: StandInPeerOptions, directory: string, identities: Identities): PeerParts {
  const mspId = options.mspId ?? 'Org1MSP';
  const peerMspId = options.peerMspId ?? mspId;
  const faults = faultRegister();
  const authorities = new Map([
    [mspId, identities.authority],
    ...[peerMspId, ...(options.furtherOrganizations ?? [])]
      .filter((further) => further !== mspId)
      .map((further) => [further, certificateAuthority(further)] as const),
  ]);
  const endorsers = new Map(
    [peerMspId, ...(options.furtherOrganizations ?? [])].map((id) => [
      id,
      endorser(id, authorities.get(id)!.issue('peer0', { unit: 'peer' })),
    ]),
  );
  const config = channelConfig([...authorities].map(([id, { cert }]) => ({ mspId: id, root: cert })));
  // The organisation of the peer must endorse; or, if its clients are of another one, any.
  const mustEndorse = peerMspId === mspId ? [endorsers.get(mspId)!] : [...endorsers.values()];
  const policy = mustEndorse.map(({ creator }) => creator);
  const executeTimeoutMs = options.executeTimeoutMs ?? 30_000;
  const processes = options.chaincodes.map((chaincode) => new ChaincodeProcess(chaincode, directory, executeTimeoutMs));
  const channelsOf = new Map(options.chaincodes.map(({ name, channels }) => [name, channels]));
  const collectionsOf = new Map(options.chaincodes.map(({ name, collections }) => [name, collections]));
  const channels = options.channels ?? ['main'];
  return {
    mspId: peerMspId,
    ledgers: new Map(channels.map((name) => [name, new ChannelLedger(name, policy, { faults, config })])),
    chaincodes: new Map(processes.map((chaincode) => [chaincode.name, chaincode])),
    isDefined: (chaincode, channel) =>
      channelsOf.has(chaincode) && (channelsOf.get(chaincode)?.includes(channel) ?? true),
    hasCollection: (chaincode, collection) =>
      /^_implicit_org_./.test(collection) || (collectionsOf.get(chaincode) ?? []).includes(collection),
    members: membership(new Map([[mspId, identities.authority.cert]])),
    endorsers,
    orderer: new Orderer({
      batchTimeoutMs: options.batchTimeoutMs ?? 20,
      maxMessageCount: options.maxMessageCount ?? 100,
    }),
    faults,
    streams: new StreamGate(),
    heightOf: ({ height }) => height,
    snapshot: { firstBlock: 0 },
    limits: { absoluteMaxBytes: options.absoluteMaxBytes ?? TEN_MEBIBYTES },
    detail: (message) => ({ address: 'peer0:7051', mspId: peerMspId, message }),
  };
}

/** The same network, seen by a peer that can stop committing blocks. */
function laggingParts(parts: PeerParts): { parts: PeerParts } & Pick<FurtherPeer, 'lag' | 'catchUp'> {
  const streams = new StreamGate();
  const stoppedAt = new Map<ChannelLedger, number>();
  return {
    parts: {
      ...parts,
      snapshot: { firstBlock: 0 },
      streams,
      heightOf: (ledger) => stoppedAt.get(ledger) ?? ledger.height,
    },
    lag: () => {
      for (const ledger of parts.ledgers.values()) stoppedAt.set(ledger, ledger.height);
      streams.hold();
    },
    catchUp: () => {
      stoppedAt.clear();
      streams.release();
    },
  };
}

interface Identities {
  readonly authority: Authority;
  readonly enroll: StandInPeer['enroll'];
}

function identitiesIn(directory: string, ownMspId: string): Identities {
  const authority = certificateAuthority(ownMspId);
  let enrolled = 0;
  return {
    authority,
    enroll: (commonName, mspId = ownMspId, attributes) => {
      // A new CA for another organisation, unknown to the channel.
      const { cert, key } = (mspId === ownMspId ? authority : certificateAuthority(mspId)).issue(commonName, {
        unit: 'client',
        attributes,
      });
      enrolled += 1;
      const [certFile, keyFile] = ['cert', 'key'].map((what) => join(directory, `client-${enrolled}-${what}.pem`));
      writeFileSync(certFile!, cert);
      writeFileSync(keyFile!, key, { mode: 0o600 });
      return { mspId, certFile: certFile!, keyFile: keyFile! };
    },
  };
}

function serverTls(directory: string, clientCa: string | undefined) {
  const authority = certificateAuthority('tls');
  const { cert, key } = authority.issue('peer0', { loopback: true });
  const caFile = join(directory, 'tls-ca.pem');
  writeFileSync(caFile, authority.cert);
  const pair = { cert_chain: Buffer.from(cert), private_key: Buffer.from(key) };
  const roots = clientCa === undefined ? null : Buffer.from(clientCa);
  return { caFile, credentials: ServerCredentials.createSsl(roots, [pair], clientCa !== undefined) };
}

function channelView({ ledgers, orderer }: PeerParts, name: string): ChannelView {
  const ledger = ledgers.get(name);
  if (ledger === undefined) throw new Error(`The stand-in peer has no channel ${name}.`);
  return {
    height: () => ledger.height,
    transactions: () => ledger.transactions,
    state: (chaincode, key) => ledger.state(chaincode).get(key, Number.POSITIVE_INFINITY)?.value.toString('utf8'),
    blocks: () => Array.from({ length: ledger.height }, (_, number) => ledger.block(number)!.serializeBinary()),
    pending: () => orderer.pending(ledger),
  };
}

function ordererControl(orderer: Orderer): StandInPeer['orderer'] {
  return {
    stop: () => {
      orderer.isAway = true;
    },
    start: () => {
      orderer.isAway = false;
    },
    hold: () => orderer.hold(),
    release: () => orderer.release(),
    forget: () => orderer.forget(),
  };
}

function chaincodeNamed({ chaincodes }: PeerParts, name: string): ChaincodeProcess {
  const chaincode = chaincodes.get(name);
  if (chaincode === undefined) throw new Error(`The stand-in peer has no chaincode ${name}.`);
  return chaincode;
}
