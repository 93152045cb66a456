import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import type { Log } from '@sealgate/observability';
import { StartError } from './start-error.ts';

export interface TlsFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

export interface TlsMaterial {
  readonly cert: string;
  readonly key: string;
}

/** What `https.Server` has of its own. */
interface SecureServer {
  setSecureContext(material: TlsMaterial): void;
}

/** @throws StartError when a file cannot be read, or they do not belong together. */
export async function readTlsFiles(files: TlsFiles): Promise<TlsMaterial> {
  try {
    return await readMatching(files);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : 'unreadable';
    throw new StartError(`The certificate in ${files.certFile} cannot be used with ${files.keyFile}: ${reason}.`, {
      cause,
    });
  }
}

/**
 * Looks at the files every `pollMs` and gives the server new ones when they have changed; open connections keep theirs.
 * The contents are compared, since a mounted secret changes by a link, and a pair that does not match yet (one file was
 * written before the other) is left for the next look.
 * @returns a function that stops looking.
 */
export function followTlsFiles(
  files: TlsFiles,
  options: { readonly server: SecureServer; readonly current: TlsMaterial; readonly pollMs: number; readonly log: Log },
): () => void {
  const { server, pollMs, log } = options;
  let { current } = options;
  let lastFailure = '';
  const look = async () => {
    try {
      const found = await readMatching(files);
      lastFailure = '';
      if (found.cert === current.cert && found.key === current.key) return;
      server.setSecureContext(found);
      current = found;
      log.info('tls_reloaded');
    } catch (error) {
      const reason = error instanceof Error ? error.message : 'unreadable';
      if (reason !== lastFailure) log.warn('tls_reload_failed', { reason });
      lastFailure = reason;
    }
  };
  const timer = setInterval(() => void look(), pollMs).unref();
  return () => clearInterval(timer);
}

async function readMatching({ certFile, keyFile }: TlsFiles): Promise<TlsMaterial> {
  const [cert, key] = await Promise.all([readFile(certFile, 'utf8'), readFile(keyFile, 'utf8')]);
  // Throws when either is malformed, or the key is not the certificate's.
  createSecureContext({ cert, key });
  return { cert, key };
}
