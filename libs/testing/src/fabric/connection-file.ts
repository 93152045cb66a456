import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { StandInPeer } from './stand-in-types.ts';

/**
 * Writes a connection file for the stand-in with short deadlines, whose channel `main` holds the given channels;
 * returns its path. `close` of the stand-in removes it.
 */
export function connectionFileOf(peer: StandInPeer, holds: readonly string[]): string {
  const file = join(peer.directory, `connection-${holds.join('-').replaceAll('*', 'all')}.json`);
  const { mspId, certFile, keyFile } = peer.identity;
  const tls = peer.tlsCaFile === undefined ? {} : { tlsCaFile: peer.tlsCaFile };
  const content = {
    mspId,
    certFile,
    keyFile,
    peers: [{ endpoint: peer.url, ...tls }],
    channels: [{ name: 'main', holds }],
    deadlinesMs: { evaluate: 2000, endorse: 2000, submit: 1000, commitStatus: 1000, answer: 4000 },
  };
  writeFileSync(file, JSON.stringify(content));
  return file;
}
