import { readFileSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { programOf } from './harness/bundle.ts';

/** References between files of a bundle: `import ... from "./chunk-X.js"` is eager, `import("./y.js")` is on demand. */
const STATIC = /^(?:import|export)\b[^;]*?"\.\/([\w.-]+\.js)";/gm;
const ON_DEMAND = /\bimport\("\.\/([\w.-]+\.js)"\)/g;

/** Each package in a bundle is marked by a comment with its path. */
const drivers = ['node_modules/@hyperledger/fabric-gateway/', 'node_modules/@grpc/grpc-js/'];

/** The files that a program loads at start. */
function readAtOnce(program: string): Map<string, string> {
  const found = new Map<string, string>();
  const visit = (file: string): void => {
    if (found.has(file)) return;
    const text = readFileSync(file, 'utf8');
    found.set(file, text);
    for (const [, name = ''] of text.matchAll(STATIC)) visit(join(dirname(file), name));
  };
  visit(program);
  return found;
}

const holdsDriver = (text: string): boolean => drivers.some((path) => text.includes(path));

describe('The bundle of a surface', () => {
  it.each(['ledger-peer', 'ingest-gateway'])('of %s loads the Fabric driver only on demand', (surface) => {
    const program = programOf(surface, 'main');
    for (const name of ['main', 'migrate'] as const) {
      const files = readAtOnce(programOf(surface, name));
      expect(files.size).toBeGreaterThan(1);
      expect([...files].filter(([, text]) => holdsDriver(text)).map(([file]) => file)).toEqual([]);
    }
    // The driver is in the bundle, and is loaded by `import()`.
    const all = readdirSync(dirname(program)).filter((file) => file.endsWith('.js'));
    const holders = all.filter((file) => holdsDriver(readFileSync(join(dirname(program), file), 'utf8')));
    expect(holders).not.toEqual([]);
    const onDemand = [...readAtOnce(program).values()].flatMap((text) => [...text.matchAll(ON_DEMAND)]);
    expect(onDemand.map(([, file]) => file)).toEqual(expect.arrayContaining(holders));
  });
});
