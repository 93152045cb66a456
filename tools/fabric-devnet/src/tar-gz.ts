import { gzipSync } from 'node:zlib';

export interface TarEntry {
  /** From the root of the archive, with slashes. */
  readonly path: string;
  readonly bytes: Uint8Array;
}

const BLOCK = 512;
const OF_A_FILE = 0o644;
/** POSIX.1-1988 ustar, which every tar can read. */
const NAME_BYTES = 100;
const PREFIX_BYTES = 155;

/**
 * A gzipped tar of the files: sorted by path, with one mtime and owned by root, so that equal files give equal archives
 * on every machine. It has no entries for folders. @throws Error if a path does not fit a header.
 */
export function tarGz(entries: readonly TarEntry[], modifiedSeconds: number): Buffer {
  const ordered = entries.toSorted((a, b) => (a.path < b.path ? -1 : 1));
  const parts = ordered.flatMap(({ path, bytes }) => {
    const padding = Buffer.alloc((BLOCK - (bytes.length % BLOCK)) % BLOCK);
    return [headerOf(path, bytes.length, modifiedSeconds), bytes, padding];
  });
  // zlib writes no time and no name into the gzip header.
  return gzipSync(Buffer.concat([...parts, Buffer.alloc(2 * BLOCK)]), { level: 9 });
}

function headerOf(path: string, size: number, modifiedSeconds: number): Buffer {
  const header = Buffer.alloc(BLOCK);
  const { prefix, name } = splitPath(path);
  const octal = (value: number, digits: number) => `${value.toString(8).padStart(digits, '0')}\0`;
  header.write(name, 0);
  header.write(octal(OF_A_FILE, 7), 100);
  header.write(octal(0, 7), 108); // uid
  header.write(octal(0, 7), 116); // gid
  header.write(octal(size, 11), 124);
  header.write(octal(modifiedSeconds, 11), 136);
  header.write(' '.repeat(8), 148); // The checksum field counts as spaces.
  header.write('0', 156); // a file
  header.write('ustar\0' + '00', 257);
  header.write('root', 265);
  header.write('root', 297);
  header.write(prefix, 345);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return header;
}

function splitPath(path: string): { prefix: string; name: string } {
  if (Buffer.byteLength(path) <= NAME_BYTES) return { prefix: '', name: path };
  for (let at = path.indexOf('/'); at > 0; at = path.indexOf('/', at + 1)) {
    const [prefix, name] = [path.slice(0, at), path.slice(at + 1)];
    if (Buffer.byteLength(prefix) <= PREFIX_BYTES && Buffer.byteLength(name) <= NAME_BYTES) return { prefix, name };
  }
  throw new Error(`${path} is too long for a tar header.`);
}
