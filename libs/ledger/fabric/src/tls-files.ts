import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import type { FabricPeer } from './connection-file.ts';
import { isEncryptedKey, stampOf } from './identity-files.ts';
import type { PeerTls } from './peer-client.ts';

type TlsPaths = Pick<FabricPeer, 'tlsCaFile' | 'tlsCertFile' | 'tlsKeyFile'>;

/** Minimum interval between checks of the files. */
const CHECK_EVERY_MS = 1000;

/**
 * The TLS files of one peer: its certificate authority, and our client certificate if required. Like the identity they
 * are checked on use; while they are unusable, the last good ones stay.
 */
export class TlsFiles {
  readonly #paths: TlsPaths;
  #tls: PeerTls | undefined;
  #stamp = '';
  #lookedAtMs = Number.NEGATIVE_INFINITY;
  #problem: string | undefined;

  constructor(paths: TlsPaths) {
    this.#paths = paths;
  }

  /** The problem of the current files; undefined if there is none. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Undefined: there never were good files, or TLS is not used. Returns the same object until the files change. */
  current(now: number): PeerTls | undefined {
    if (this.#paths.tlsCaFile !== undefined && Math.abs(now - this.#lookedAtMs) >= CHECK_EVERY_MS) {
      this.#lookedAtMs = now;
      this.#look(this.#paths.tlsCaFile);
    }
    return this.#tls;
  }

  #look(caFile: string): void {
    const { tlsCertFile, tlsKeyFile } = this.#paths;
    const stamp = [caFile, tlsCertFile, tlsKeyFile].map((file) => (file === undefined ? '' : stampOf(file))).join();
    if (stamp === this.#stamp && this.#problem === undefined) return;
    this.#stamp = stamp;
    try {
      this.#tls = readTls(caFile, tlsCertFile, tlsKeyFile);
      this.#problem = undefined;
    } catch (error) {
      this.#problem = error instanceof TlsFilesError ? error.message : 'a TLS file cannot be read';
    }
  }
}

class TlsFilesError extends Error {
  override readonly name = 'TlsFilesError';
}

/** Also matches a truncated certificate, in a file that is being written. */
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]*?(?:-----END CERTIFICATE-----|$)/g;

function readTls(caFile: string, certFile: string | undefined, keyFile: string | undefined): PeerTls {
  const ca = readFileSync(caFile);
  const authorities = certificatesOf(ca, 'tlsCaFile');
  const caExpiresAtMs = Math.max(...authorities.map(({ validTo }) => Date.parse(validTo)));
  if (certFile === undefined || keyFile === undefined) return { ca, caExpiresAtMs };
  const [cert, key] = [readFileSync(certFile), readFileSync(keyFile)];
  const [own] = certificatesOf(cert, 'tlsCertFile');
  if (isEncryptedKey(key)) throw new TlsFilesError('tlsKeyFile is encrypted, but passphrases are not supported');
  try {
    if (!own!.checkPrivateKey(createPrivateKey(key))) throw new Error('They do not belong together.');
  } catch (cause) {
    throw new TlsFilesError('tlsKeyFile does not hold the key of the certificate in tlsCertFile', { cause });
  }
  try {
    // OpenSSL rejects some readable keys (RSA with 1024 bits), and grpc-js would then throw at every call.
    createSecureContext({ cert, key });
  } catch (cause) {
    const { code = 'for an unknown reason' } = cause as NodeJS.ErrnoException;
    throw new TlsFilesError(`tlsCertFile or tlsKeyFile is refused by OpenSSL: ${code}`, { cause });
  }
  return { ca, caExpiresAtMs, client: { cert, key, der: own!.raw } };
}

/** At least one. @throws TlsFilesError. */
function certificatesOf(pem: Buffer, name: string): X509Certificate[] {
  try {
    const certificates = [...pem.toString('latin1').matchAll(CERTIFICATE)].map(([text]) => new X509Certificate(text));
    if (certificates.length > 0) return certificates;
  } catch {
    // Same error as for no certificate.
  }
  throw new TlsFilesError(`${name} holds no certificate, or one that cannot be read`);
}
