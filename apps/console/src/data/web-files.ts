import { readdirSync, readFileSync, statSync } from 'node:fs';
import { extname, join } from 'node:path';

export interface WebFile {
  readonly bytes: Buffer;
  readonly contentType: string;
  /** Its name holds a hash of its content: it never changes. */
  readonly isImmutable: boolean;
}

export interface WebFiles {
  /** `index.html`, with `__CSP_NONCE__` where the nonce of each answer goes. */
  readonly index: string;
  /** By their paths: `/assets/index-4f3a.js`. Not `index.html`. */
  readonly files: ReadonlyMap<string, WebFile>;
}

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.ico': 'image/x-icon',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.map': 'application/json',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.webmanifest': 'application/manifest+json',
  '.woff2': 'font/woff2',
};

/** All pages together are a few MiB. */
const MAX_BYTES = 33_554_432;

/**
 * The built pages, read once, into memory: what is not among them is not a file, whatever a path says.
 * @throws Error where there are none, or they are too large to be ours.
 */
export function readWebFiles(folder: string): WebFiles {
  const files = new Map<string, WebFile>();
  let size = 0;
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    const contentType = TYPES[extname(entry.name)];
    const url = path.slice(folder.length).replaceAll('\\', '/');
    // What begins with a dot was left by the bundler for other tools.
    if (!entry.isFile() || contentType === undefined || url.includes('/.')) continue;
    size += statSync(path).size;
    if (size > MAX_BYTES) throw new Error(`The pages in ${folder} are larger than ${MAX_BYTES} bytes.`);
    files.set(url, { bytes: readFileSync(path), contentType, isImmutable: url.startsWith('/assets/') });
  }
  const index = files.get('/index.html');
  if (index === undefined) throw new Error(`There is no index.html in ${folder}.`);
  files.delete('/index.html');
  return { index: index.bytes.toString('utf8'), files };
}
