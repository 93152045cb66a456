import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { certificateAuthority } from '@sealgate/testing/fabric';

/** Certificates of servers of the site on loopback, by an authority of its own. */
export interface Certificates {
  /** What clients trust: as text, and as a file. */
  readonly ca: string;
  readonly caFile: string;
  /** Of a public listener. */
  readonly certFile: string;
  readonly keyFile: string;
  /** Of our receiver of webhooks. */
  readonly receiver: { readonly cert: string; readonly key: string };
  /** Replaces that of the listener by one that ended yesterday. */
  expire(): void;
  renew(): void;
}

const DAY_MS = 86_400_000;

/** Writes them into `folder`. */
export function certificatesIn(folder: string): Certificates {
  const authority = certificateAuthority('Chaos');
  const [caFile, certFile, keyFile] = ['ca.pem', 'listener.crt', 'listener.key'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  writeFileSync(caFile, authority.cert);
  const replace = (file: string, text: string): void => {
    writeFileSync(`${file}.new`, text, { mode: 0o600 });
    renameSync(`${file}.new`, file);
  };
  const serve = (validTo?: Date): void => {
    const issued = authority.issue('listener', { loopback: true, ...(validTo === undefined ? {} : { validTo }) });
    replace(keyFile, issued.key);
    replace(certFile, issued.cert);
  };
  serve();
  return {
    ca: authority.cert,
    caFile,
    certFile,
    keyFile,
    receiver: authority.issue('receiver', { loopback: true }),
    expire: () => serve(new Date(Date.now() - DAY_MS)),
    renew: () => serve(),
  };
}
