import { createPrivateKey, X509Certificate, type KeyObject } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { signLowS } from './native-signer.ts';

/** State of the identity files in `/health/startup` and `/health`; `problems` is empty when all is well. */
export interface CredentialsState {
  readonly ok: boolean;
  readonly problems: readonly string[];
  /** RFC 3339; null if there is no readable certificate. */
  readonly certificateExpiresAt: string | null;
}

/** The signing identity: a certificate and its key. Immutable; a rotation creates another. */
export interface FabricIdentity {
  readonly mspId: string;
  /** PEM. */
  readonly certificate: Buffer;
  sign(message: Uint8Array): Buffer;
}

interface IdentityFilesOptions {
  readonly mspId: string;
  readonly certFile: string;
  readonly keyFile: string;
  readonly now: () => number;
  /** Called once per file change that could not be loaded. */
  readonly onProblem: (detail: string) => void;
}

/** Minimum interval between checks of the files. */
const CHECK_EVERY_MS = 1000;

/**
 * The identity on disk. It is checked on use, so that a rotation needs no restart; calls that began with the old
 * certificate end with it. While the files do not match (during a rotation) the last good pair stays.
 */
export class IdentityFiles {
  readonly #options: IdentityFilesOptions;
  #identity: FabricIdentity | undefined;
  #stamp = '';
  #lookedAtMs = Number.NEGATIVE_INFINITY;

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
  /** Both are set only if they can sign together, expired or not. */
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

/** PKCS #8 or the older OpenSSL form; there is no option for a passphrase. */
export function isEncryptedKey(pem: Buffer): boolean {
  return /BEGIN ENCRYPTED PRIVATE KEY|Proc-Type: 4,ENCRYPTED/.test(pem.toString('latin1'));
}

/** Describes a key that cannot be read. */
function keyProblem(pem: Buffer): string {
  return isEncryptedKey(pem)
    ? 'the private key is encrypted, but passphrases are not supported'
    : 'the private key is not a PEM key';
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
