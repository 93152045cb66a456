import { createPrivateKey, X509Certificate, type KeyObject } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { canSign, signLowS } from './native-signer.ts';

/** State of the identity files in `/health/startup` and `/health`; `problems` is empty when all is well. */
export interface CredentialsState {
  readonly ok: boolean;
  readonly problems: readonly string[];
  /** RFC 3339; null if there is no readable certificate. */
  readonly certificateExpiresAt: string | null;
  /** Each of several. */
  readonly identities?: readonly (Pick<CredentialsState, 'ok' | 'certificateExpiresAt'> & { readonly name: string })[];
}

/** The signing identity: a certificate and its key. Immutable; a rotation creates another. */
export interface FabricIdentity {
  /** That of the connection file. */
  readonly name: string;
  readonly mspId: string;
  /** PEM. */
  readonly certificate: Buffer;
  sign(message: Uint8Array): Buffer;
}

/** Where an identity is on disk: two files of PEM, or a folder as Fabric's tools write it (`signcerts`, `keystore`). */
export type IdentitySource = {
  readonly name: string;
  readonly mspId: string;
  /** Holds the passphrase of an encrypted key; a line break at its end does not count. */
  readonly keyPassphraseFile?: string | undefined;
} & ({ readonly certFile: string; readonly keyFile: string } | { readonly mspFolder: string });

interface IdentityFilesOptions {
  readonly source: IdentitySource;
  readonly now: () => number;
  /** Called once per file change that could not be loaded, and every minute while there is no identity. */
  readonly onProblem: (detail: string) => void;
}

/** Minimum interval between checks of the files. */
const CHECK_EVERY_MS = 1000;
const REPORT_AGAIN_MS = 60_000;

/**
 * The identity on disk. It is checked on use, so that a rotation needs no restart; calls that began with the old
 * certificate end with it. While the files do not match (during a rotation) the last good pair stays.
 */
export class IdentityFiles {
  readonly #options: IdentityFilesOptions;
  #identity: FabricIdentity | undefined;
  #stamp = '';
  #lookedAtMs = Number.NEGATIVE_INFINITY;
  #reportedAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: IdentityFilesOptions) {
    this.#options = options;
  }

  /** Undefined until there is a good pair. */
  current(): FabricIdentity | undefined {
    const now = this.#options.now();
    if (Math.abs(now - this.#lookedAtMs) >= CHECK_EVERY_MS) {
      this.#lookedAtMs = now;
      this.#look();
    }
    return this.#identity;
  }

  /** Reads the current files. */
  state(): CredentialsState {
    const { source, now } = this.#options;
    const { problems, expiresAt } = readPair(source, now());
    return { ok: problems.length === 0, problems, certificateExpiresAt: expiresAt };
  }

  #look(): void {
    const { source, now, onProblem } = this.#options;
    const stamp = filesOf(source).map(stampOf).join('');
    if (stamp === this.#stamp && this.#identity !== undefined) return;
    const changed = stamp !== this.#stamp;
    this.#stamp = stamp;
    const at = now();
    const { certificate, key, problems } = readPair(source, at);
    const { name, mspId } = source;
    if (certificate !== undefined && key !== undefined)
      this.#identity = { name, mspId, certificate, sign: (message) => signLowS(key, message) };
    const isDue = changed || (this.#identity === undefined && at - this.#reportedAtMs >= REPORT_AGAIN_MS);
    if (problems.length === 0 || !isDue) return;
    this.#reportedAtMs = at;
    onProblem(problems.join('; '));
  }
}

/** Whether the file, or one of the folder, has changed shows in the stamps of these. */
function filesOf(source: IdentitySource): string[] {
  const passphrase = source.keyPassphraseFile === undefined ? [] : [source.keyPassphraseFile];
  return [...certFilesOf(source), ...keyFilesOf(source), ...passphrase];
}

const certFilesOf = (source: IdentitySource): string[] =>
  'mspFolder' in source ? filesIn(source.mspFolder, 'signcerts') : [source.certFile];

const keyFilesOf = (source: IdentitySource): string[] =>
  'mspFolder' in source ? filesIn(source.mspFolder, 'keystore') : [source.keyFile];

/** Files of a folder of an MSP, by name; what begins with a dot is of the file system. */
function filesIn(folder: string, name: string): string[] {
  const path = join(folder, name);
  try {
    const names = readdirSync(path).filter((file) => !file.startsWith('.'));
    return names.sort().map((file) => join(path, file));
  } catch {
    return [];
  }
}

/** Changes whenever the file is replaced or rewritten. */
export function stampOf(file: string): string {
  try {
    const { ino, size, mtimeMs, ctimeMs } = statSync(file);
    return `${ino}/${size}/${mtimeMs}/${ctimeMs};`;
  } catch {
    return 'absent;';
  }
}

interface Pair {
  /** Both are set only if they can sign together, expired or not. */
  readonly certificate?: Buffer;
  readonly key?: KeyObject;
  readonly problems: readonly string[];
  readonly expiresAt: string | null;
}

function readPair(source: IdentitySource, now: number): Pair {
  const problems: string[] = [];
  const pem = attempt(() => readFileSync(certFilesOf(source)[0]!), 'the certificate cannot be read', problems);
  const certificate = pem && attempt(() => new X509Certificate(pem), 'the certificate is not X.509', problems);
  const expiresAt = certificate === undefined ? null : new Date(certificate.validTo).toISOString();
  const keys = readKeys(source, problems);
  const usable = keys.filter(canSign);
  if (keys.length > 0 && usable.length === 0) {
    return { problems: [...problems, 'the private key is of neither P-256 nor P-384'], expiresAt };
  }
  if (certificate !== undefined) problems.push(...validityProblems(certificate, now));
  if (pem === undefined || certificate === undefined || usable.length === 0) return { problems, expiresAt };
  const key = usable.find((each) => certificate.checkPrivateKey(each));
  if (key === undefined) {
    return { problems: [...problems, 'the private key does not belong to the certificate'], expiresAt };
  }
  return { certificate: pem, key, problems, expiresAt };
}

/** A folder may hold keys of earlier certificates too: problems of one count if none can be read. */
function readKeys(source: IdentitySource, problems: string[]): KeyObject[] {
  const files = keyFilesOf(source);
  const found: string[] = files.length === 0 ? ['the private key cannot be read'] : [];
  const keys = files.flatMap((file) => {
    const pem = attempt(() => readFileSync(file), 'the private key cannot be read', found);
    return pem === undefined ? [] : (readKey(pem, source.keyPassphraseFile, found) ?? []);
  });
  if (keys.length === 0) problems.push(...new Set(found));
  return keys;
}

function readKey(pem: Buffer, passphraseFile: string | undefined, problems: string[]): KeyObject | undefined {
  if (!isEncryptedKey(pem)) return attempt(() => createPrivateKey(pem), 'the private key is not a PEM key', problems);
  if (passphraseFile === undefined) {
    problems.push('the private key is encrypted, and there is no keyPassphraseFile');
    return undefined;
  }
  const text = attempt(
    () => readFileSync(passphraseFile, 'utf8'),
    'the passphrase of the key cannot be read',
    problems,
  );
  if (text === undefined) return undefined;
  const passphrase = text.replace(/\r?\n$/, '');
  const problem = 'the private key cannot be opened with its passphrase';
  return attempt(() => createPrivateKey({ key: pem, passphrase }), problem, problems);
}

/** PKCS #8 or the older OpenSSL form. */
export function isEncryptedKey(pem: Buffer): boolean {
  return /BEGIN ENCRYPTED PRIVATE KEY|Proc-Type: 4,ENCRYPTED/.test(pem.toString('latin1'));
}

function validityProblems({ validFrom, validTo }: X509Certificate, now: number): string[] {
  if (now >= Date.parse(validTo)) return ['the certificate has expired'];
  return now < Date.parse(validFrom) ? ['the certificate is not valid yet'] : [];
}

/** Reports neither path nor cause: health routes are public. */
function attempt<T>(work: () => T, problem: string, problems: string[]): T | undefined {
  try {
    return work();
  } catch {
    problems.push(problem);
    return undefined;
  }
}
