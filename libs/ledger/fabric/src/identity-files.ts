import { createPrivateKey, X509Certificate, type KeyObject } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import type { CredentialsState } from './credentials.ts';
import { signLowS } from './native-signer.ts';

/** Who signs: one certificate and its key. Never changes; a rotation makes another. */
export interface FabricIdentity {
  readonly mspId: string;
  /** PEM. */
  readonly certificate: Buffer;
  sign(message: Uint8Array): Buffer;
}

export interface IdentityFilesOptions {
  readonly mspId: string;
  readonly certFile: string;
  readonly keyFile: string;
  readonly now: () => number;
  /** Told once per change of the files that could not be taken over. */
  readonly onProblem: (detail: string) => void;
}

/** How often, at most, the files are looked at. */
const LOOK_EVERY_MS = 1000;

/**
 * The identity on disk. It is looked at when it is used, so that a rotation needs no restart: whoever began with the old
 * certificate ends with it. While the files do not go together (a rotation half done) the last good pair stays.
 */
export class IdentityFiles {
  readonly #options: IdentityFilesOptions;
  #identity: FabricIdentity | undefined;
  #stamp = '';
  #lookedAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: IdentityFilesOptions) {
    this.#options = options;
  }

  /** Undefined as long as there never was a good pair. */
  current(): FabricIdentity | undefined {
    const now = this.#options.now();
    if (Math.abs(now - this.#lookedAtMs) >= LOOK_EVERY_MS) {
      this.#lookedAtMs = now;
      this.#look();
    }
    return this.#identity;
  }

  /** Reads the files as they are now. */
  state(): CredentialsState {
    const { problems, expiresAt } = readPair(this.#options);
    return { ok: problems.length === 0, problems, certificateExpiresAt: expiresAt };
  }

  #look(): void {
    const stamp = stampOf(this.#options.certFile) + stampOf(this.#options.keyFile);
    if (stamp === this.#stamp && this.#identity !== undefined) return;
    const changed = stamp !== this.#stamp;
    this.#stamp = stamp;
    const { certificate, key, problems } = readPair(this.#options);
    if (certificate !== undefined && key !== undefined) {
      const { mspId } = this.#options;
      this.#identity = { mspId, certificate, sign: (message) => signLowS(key, message) };
    }
    if (problems.length > 0 && changed) this.#options.onProblem(problems.join('; '));
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
  /** Both are there only where they can sign together, expired or not. */
  readonly certificate?: Buffer;
  readonly key?: KeyObject;
  readonly problems: readonly string[];
  readonly expiresAt: string | null;
}

function readPair({ certFile, keyFile, now }: IdentityFilesOptions): Pair {
  const problems: string[] = [];
  const pem = attempt(() => readFileSync(certFile), 'the certificate cannot be read', problems);
  const certificate = pem && attempt(() => new X509Certificate(pem), 'the certificate is not X.509', problems);
  const keyPem = attempt(() => readFileSync(keyFile), 'the private key cannot be read', problems);
  const key = keyPem && attempt(() => createPrivateKey(keyPem), keyProblem(keyPem), problems);
  const expiresAt = certificate === undefined ? null : new Date(certificate.validTo).toISOString();
  if (key !== undefined && key.asymmetricKeyDetails?.namedCurve !== 'prime256v1') {
    return { problems: [...problems, 'the private key is not of the curve P-256'], expiresAt };
  }
  if (certificate !== undefined) problems.push(...validityProblems(certificate, now()));
  if (pem === undefined || certificate === undefined || key === undefined) return { problems, expiresAt };
  if (!certificate.checkPrivateKey(key)) {
    return { problems: [...problems, 'the private key does not belong to the certificate'], expiresAt };
  }
  return { certificate: pem, key, problems, expiresAt };
}

/** In PKCS #8, or in the older form of OpenSSL: there is no place for a passphrase. */
export function isEncryptedKey(pem: Buffer): boolean {
  return /BEGIN ENCRYPTED PRIVATE KEY|Proc-Type: 4,ENCRYPTED/.test(pem.toString('latin1'));
}

/** Of a key that cannot be read. */
function keyProblem(pem: Buffer): string {
  return isEncryptedKey(pem)
    ? 'the private key is encrypted: it is read without a passphrase'
    : 'the private key is not a PEM key';
}

function validityProblems({ validFrom, validTo }: X509Certificate, now: number): string[] {
  if (now >= Date.parse(validTo)) return ['the certificate has expired'];
  return now < Date.parse(validFrom) ? ['the certificate is not valid yet'] : [];
}

/** Never names the path or the cause: this is told at an open health route. */
function attempt<T>(work: () => T, problem: string, problems: string[]): T | undefined {
  try {
    return work();
  } catch {
    problems.push(problem);
    return undefined;
  }
}
