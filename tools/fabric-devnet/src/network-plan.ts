import { join } from 'node:path';

/** Settings of a network, fixed for its life: addresses and batch timeout are in its genesis blocks. */
export interface NetworkSettings {
  /** Base of all ports; see `networkPlan`. */
  readonly portBase: number;
  /** How long the orderer waits for more transactions before it cuts a block. */
  readonly batchTimeoutMs: number;
  /** Number of organisations; default 2. */
  readonly organizations?: number;
  /** Whether peers require a client certificate of an organisation of the network. */
  readonly mutualTls?: boolean;
  /** Programs of the contracts; absent: none yet. The order of further contracts decides their ports. */
  readonly programs?: ContractPrograms;
}

/** The program of each contract as an absolute path. A contract without one is not part of the network. */
export type ContractPrograms = Readonly<Record<string, string>>;

const organizationNames = ['north', 'south', 'east'] as const;
export type OrganizationName = (typeof organizationNames)[number];

/** Every network has a place for these; others are added by name. */
const firstContracts = ['records', 'basic'] as const;
export const mostFurtherContracts = 7;

/** One process of the network: a node, or a contract of an organisation. */
export type Role = 'orderer' | `${string}-${OrganizationName}`;

/** PEM files of a TLS server, and of the CA that its clients trust. */
interface TlsFiles {
  readonly certFile: string;
  readonly keyFile: string;
  readonly caFile: string;
}

/** PEM files of a signing identity. */
interface Identity {
  readonly mspFolder: string;
  readonly certFile: string;
  readonly keyFile: string;
}

export interface OrdererPlan {
  readonly role: 'orderer';
  readonly mspId: string;
  readonly domain: string;
  readonly port: number;
  readonly adminPort: number;
  readonly operationsPort: number;
  /** Client certificate for the admin listener: the channel participation API requires one. */
  readonly adminTls: TlsFiles;
  readonly tls: TlsFiles;
  readonly mspFolder: string;
  readonly organizationMspFolder: string;
  readonly configFolder: string;
  readonly stateFolder: string;
}

export interface OrganizationPlan {
  readonly name: OrganizationName;
  readonly mspId: string;
  readonly domain: string;
  readonly organizationMspFolder: string;
  readonly admin: Identity;
  readonly user: Identity;
  /** The user's client certificate, shown to peers that require one. */
  readonly userTls: TlsFiles;
  readonly peer: PeerPlan;
  /** Server certificate of the contract processes. */
  readonly contractTls: TlsFiles;
  readonly contractPorts: Readonly<Record<string, number>>;
  readonly connectionFile: string;
}

interface PeerPlan {
  readonly role: `peer-${OrganizationName}`;
  readonly port: number;
  readonly chaincodePort: number;
  readonly operationsPort: number;
  readonly tls: TlsFiles;
  readonly mspFolder: string;
  readonly configFolder: string;
  readonly stateFolder: string;
}

export interface ChannelPlan {
  readonly name: string;
  /** Value of `peer lifecycle chaincode approveformyorg --signature-policy`. */
  readonly endorsementPolicy: string;
  readonly blockFile: string;
}

export interface NetworkPlan {
  readonly settings: NetworkSettings;
  readonly folders: {
    readonly data: string;
    readonly config: string;
    readonly crypto: string;
    readonly blocks: string;
    readonly packages: string;
    readonly collections: string;
    readonly builder: string;
    readonly logs: string;
    readonly run: string;
  };
  readonly settingsFile: string;
  readonly lockFile: string;
  /** A copy of the first organisation's file. */
  readonly connectionFile: string;
  readonly orderer: OrdererPlan;
  readonly organizations: readonly OrganizationPlan[];
  readonly channels: readonly ChannelPlan[];
}

export const defaultPortBase = 4300;
export const defaultBatchTimeoutMs = 200;
const firstFurtherOffset = 26;
/** Those of the third organisation follow the further contracts of the first two. */
const thirdOffset = firstFurtherOffset + 2 * mostFurtherContracts;
export const highestPortOffset = thirdOffset + 5 + mostFurtherContracts;

/** All paths and ports of a network. `data` is absolute. Pure: nothing is created. */
export function networkPlan(data: string, settings: NetworkSettings): NetworkPlan {
  const in_ = (...parts: string[]): string => join(data, ...parts);
  const further = furtherContracts(Object.keys(settings.programs ?? {}));
  const organizations = organizationNames.slice(0, settings.organizations ?? 2).map((name, index) => {
    const isThird = index === 2;
    const furtherPorts = further.map((contract, place): [string, number] => [
      contract,
      settings.portBase + (isThird ? thirdOffset + 6 + place : firstFurtherOffset + 2 * place + index),
    ]);
    const base = settings.portBase + (isThird ? thirdOffset : 10 * (index + 1));
    return organizationPlan(data, name, base, Object.fromEntries(furtherPorts));
  });
  return {
    settings,
    folders: {
      data,
      config: in_('config'),
      crypto: in_('crypto'),
      blocks: in_('blocks'),
      packages: in_('packages'),
      collections: in_('collections'),
      builder: in_('builder'),
      logs: in_('logs'),
      run: in_('run'),
    },
    settingsFile: in_('network.json'),
    lockFile: in_('lock'),
    connectionFile: in_('connection.json'),
    orderer: ordererPlan(data, settings.portBase),
    organizations,
    channels: [
      { name: 'both', endorsementPolicy: twoOf(organizations), blockFile: in_('blocks', 'both.block') },
      { name: 'either', endorsementPolicy: `OR(${peersOf(organizations)})`, blockFile: in_('blocks', 'either.block') },
    ],
  };
}

/** The contracts beyond those that every network has a place for. */
export const furtherContracts = (names: readonly string[]): readonly string[] =>
  names.filter((name) => !firstContracts.some((first) => first === name));

/** All contracts that a network may run processes of. */
export const contractsIn = (programs: ContractPrograms = {}): readonly string[] => [
  ...firstContracts,
  ...furtherContracts(Object.keys(programs)),
];

/** The contracts of a network, in start order. */
export const contractsWithPrograms = (programs: ContractPrograms): readonly string[] =>
  contractsIn(programs).filter((name) => programs[name] !== undefined);

const peersOf = (organizations: readonly OrganizationPlan[]): string =>
  organizations.map(({ mspId }) => `'${mspId}.peer'`).join(',');

const twoOf = (organizations: readonly OrganizationPlan[]): string =>
  organizations.length === 2 ? `AND(${peersOf(organizations)})` : `OutOf(2,${peersOf(organizations)})`;

const tlsFiles = (folder: string, name: 'server' | 'client' = 'server'): TlsFiles => ({
  certFile: join(folder, `${name}.crt`),
  keyFile: join(folder, `${name}.key`),
  caFile: join(folder, 'ca.crt'),
});

/** The layout below is cryptogen's. */
function ordererPlan(data: string, base: number): OrdererPlan {
  const domain = 'orderer.test';
  const organization = join(data, 'crypto/ordererOrganizations', domain);
  const node = join(organization, 'orderers', `orderer.${domain}`);
  return {
    role: 'orderer',
    mspId: 'OrdererMSP',
    domain,
    port: base + 1,
    adminPort: base + 2,
    operationsPort: base + 3,
    adminTls: tlsFiles(join(organization, `users/Admin@${domain}/tls`), 'client'),
    tls: tlsFiles(join(node, 'tls')),
    mspFolder: join(node, 'msp'),
    organizationMspFolder: join(organization, 'msp'),
    configFolder: join(data, 'config/orderer'),
    stateFolder: join(data, 'state/orderer'),
  };
}

function organizationPlan(
  data: string,
  name: OrganizationName,
  base: number,
  furtherPorts: Readonly<Record<string, number>>,
): OrganizationPlan {
  const domain = `${name}.test`;
  const organization = join(data, 'crypto/peerOrganizations', domain);
  const node = (host: string): string => join(organization, 'peers', `${host}.${domain}`);
  return {
    name,
    mspId: `${name[0]!.toUpperCase()}${name.slice(1)}MSP`,
    domain,
    organizationMspFolder: join(organization, 'msp'),
    admin: identity(organization, `Admin@${domain}`),
    user: identity(organization, `User1@${domain}`),
    userTls: tlsFiles(join(organization, 'users', `User1@${domain}`, 'tls'), 'client'),
    peer: {
      role: `peer-${name}`,
      port: base + 1,
      chaincodePort: base + 2,
      operationsPort: base + 3,
      tls: tlsFiles(join(node('peer'), 'tls')),
      mspFolder: join(node('peer'), 'msp'),
      configFolder: join(data, 'config', `peer-${name}`),
      stateFolder: join(data, 'state', `peer-${name}`),
    },
    contractTls: tlsFiles(join(node('contract'), 'tls')),
    contractPorts: { records: base + 4, basic: base + 5, ...furtherPorts },
    connectionFile: join(data, `connection.${name}.json`),
  };
}

function identity(organization: string, user: string): Identity {
  const mspFolder = join(organization, 'users', user, 'msp');
  return {
    mspFolder,
    certFile: join(mspFolder, 'signcerts', `${user}-cert.pem`),
    keyFile: join(mspFolder, 'keystore/priv_sk'),
  };
}

/** All ports of the network, each with the role that listens on it. */
export function portsOf(plan: NetworkPlan, contracts: readonly string[]): readonly { role: Role; port: number }[] {
  const { orderer, organizations } = plan;
  return [
    ...[orderer.port, orderer.adminPort, orderer.operationsPort].map((port) => ({ role: orderer.role, port })),
    ...organizations.flatMap(({ name, peer, contractPorts }) => [
      ...[peer.port, peer.chaincodePort, peer.operationsPort].map((port) => ({ role: peer.role, port })),
      ...contracts.map((contract) => ({ role: `${contract}-${name}` as const, port: contractPorts[contract]! })),
    ]),
  ];
}
