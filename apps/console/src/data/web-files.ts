import { readdirSync, readFileSync, statSync } from 'node:fs';
import { extname, join } from 'node:path';

interface WebFile {
  readonly bytes: Buffer;
  readonly contentType: string;
  /** Whether the name contains a content hash, so that the file never changes. */
  readonly isImmutable: boolean;
}

export interface WebFiles {
  /** `index.html`, with `__CSP_NONCE__` as the placeholder of the nonce. */
  readonly index: string;
  /** By path, such as `/assets/index-4f3a.js`. Without `index.html`. */
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

/** Upper bound on the size of all files together, which are a few MiB. */
const MAX_BYTES = 33_554_432;

/**
 * Reads the built pages into memory, once: a path that is not among them is no file.
 * @throws Error if there are none, or they exceed the size limit.
 */
export function readWebFiles(folder: string): WebFiles {
  const files = new Map<string, WebFile>();
  let size = 0;
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    const contentType = TYPES[extname(entry.name)];
    const url = path.slice(folder.length).replaceAll('\\', '/');
    // Dot files are metadata of the bundler.
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
