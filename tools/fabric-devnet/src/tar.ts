const blockBytes = 512;

/** A POSIX.1-1988 ustar archive of small regular files; the same files give the same bytes. Names are at most 100 bytes. */
export function tarOf(files: Readonly<Record<string, string | Buffer>>): Buffer {
  const entries = Object.entries(files).flatMap(([name, content]) => {
    const bytes = Buffer.from(content);
    return [headerOf(name, bytes.length), bytes, Buffer.alloc(-bytes.length & (blockBytes - 1))];
  });
  return Buffer.concat([...entries, Buffer.alloc(2 * blockBytes)]);
}

function headerOf(name: string, size: number): Buffer {
  if (Buffer.byteLength(name) > 100) throw new RangeError(`${name} is too long for a tar header.`);
  const header = Buffer.alloc(blockBytes);
  const octal = (value: number, width: number): string => `${value.toString(8).padStart(width - 1, '0')}\0`;
  header.write(name, 0);
  header.write(octal(0o644, 8), 100); // mode
  header.write(octal(0, 8), 108); // owner
  header.write(octal(0, 8), 116); // group
  header.write(octal(size, 12), 124);
  header.write(octal(0, 12), 136); // time of change: none, so that the same content has the same hash
  header.write(' '.repeat(8), 148); // the checksum counts itself as spaces
  header.write('0', 156); // a regular file
  header.write('ustar\x0000', 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return header;
}
