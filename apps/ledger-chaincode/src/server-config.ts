import { readFileSync } from 'node:fs';

export interface ServerConfig {
  /** `host:port` to listen on. */
  readonly address: string;
  /** The package id from the peer's lifecycle: `<label>:<hash>`. */
  readonly chaincodeId: string;
  /** Undefined: plaintext. */
  readonly tls:
    | {
        readonly key: Buffer;
        readonly cert: Buffer;
        /** If set, peers must present a certificate of this CA. */
        readonly clientCACerts: Buffer | null;
      }
    | undefined;
}

const NAMES = [
  'CHAINCODE_SERVER_ADDRESS',
  'CHAINCODE_ID',
  'CHAINCODE_TLS_CERT_FILE',
  'CHAINCODE_TLS_KEY_FILE',
  'CHAINCODE_TLS_CLIENT_CA_FILE',
] as const;

const TLS_PREFIX = 'CHAINCODE_TLS';

type Name = (typeof NAMES)[number];
type Environment = Readonly<Record<string, string | undefined>>;

/**
 * A misspelt required variable is reported as missing. A misspelt TLS variable would silently leave TLS off, so unknown
 * variables that begin with CHAINCODE_TLS are faults, too. @throws Error listing all faults.
 */
export function readServerConfig(environment: Environment): ServerConfig {
  const faults = Object.keys(environment)
    .filter((name) => name.startsWith(TLS_PREFIX) && !(NAMES as readonly string[]).includes(name))
    .map((name) => `${name} is not known.`);
  const address = required(environment, 'CHAINCODE_SERVER_ADDRESS', faults);
  if (address !== '' && !/^[^\s:]+:[0-9]{1,5}$|^\[[0-9a-fA-F:]+\]:[0-9]{1,5}$/.test(address)) {
    faults.push('CHAINCODE_SERVER_ADDRESS is not <host>:<port>.');
  }
  const chaincodeId = required(environment, 'CHAINCODE_ID', faults);
  const tls = readTls(environment, faults);
  if (faults.length > 0) throw new Error(faults.join(' '));
  return { address, chaincodeId, tls };
}

function required(environment: Environment, name: Name, faults: string[]): string {
  const value = environment[name] ?? '';
  if (value === '') faults.push(`${name} is missing.`);
  return value;
}

function readTls(environment: Environment, faults: string[]): ServerConfig['tls'] {
  const cert = readGiven(environment, 'CHAINCODE_TLS_CERT_FILE', faults);
  const key = readGiven(environment, 'CHAINCODE_TLS_KEY_FILE', faults);
  const clientCACerts = readGiven(environment, 'CHAINCODE_TLS_CLIENT_CA_FILE', faults);
  if (cert !== undefined && key !== undefined) return { cert, key, clientCACerts: clientCACerts ?? null };
  const given = ['CHAINCODE_TLS_CERT_FILE', 'CHAINCODE_TLS_KEY_FILE'].filter(
    (name) => (environment[name] ?? '') !== '',
  );
  if (given.length === 1) faults.push(`${given[0]} is given without the other of certificate and key.`);
  if (given.length === 0 && clientCACerts !== undefined) {
    faults.push('CHAINCODE_TLS_CLIENT_CA_FILE is given without certificate and key.');
  }
  return undefined;
}

function readGiven(environment: Environment, name: Name, faults: string[]): Buffer | undefined {
  const file = environment[name] ?? '';
  if (file === '') return undefined;
  try {
    return readFileSync(file);
  } catch {
    faults.push(`${name} cannot be read.`);
    return undefined;
  }
}
