import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import {
  bundlePath,
  checkpointText,
  entriesOf,
  generateNoteKey,
  leafHash,
  noteSigner,
  parseCheckpoint,
  TileTree,
} from '@sealgate/merkle';
import { checkDecisions } from './check-decisions.ts';
import { headsOf, linesOf, saved } from './testing/sample-decisions.ts';
import { CHANNEL } from './testing/sample-log.ts';

describe('saved heads, compared with a copy of the log', () => {
  const lines = linesOf('p1', 9);
  const other = linesOf('p2', 3);
  const all = [...headsOf(lines, [4, 9]), ...headsOf(other, [2, 3])];
  /** All four heads are in the log; `edit` changes the auditor's files. */
  async function compared(edit: (files: Files) => void = () => undefined, more: { from?: string } = {}) {
    const { directory, input, key } = await saved([...lines, ...other], all);
    const heads = readFileSync(input.heads, 'utf8').trimEnd().split('\n');
    edit({
      directory,
      key,
      heads,
      keep: (kept) => writeFileSync(input.heads, kept.map((line) => `${line}\n`).join('')),
    });
    const { verified, steps, notes } = await checkDecisions({ ...input, ...more, log: `${directory}/copy` });
    const faults = steps.filter(({ status }) => status === 'failed').map(({ step, detail }) => `${step}: ${detail}`);
    return { verified, faults, notes };
  }
  interface Files {
    readonly directory: string;
    readonly key: { privateKey: string };
    readonly heads: readonly string[];
    keep(lines: readonly string[]): void;
  }
  const bundle = (directory: string) => `${directory}/copy/${bundlePath({ index: 0, width: 4 })}`;
  const withheld = (index: number) =>
    `withheld: Head head-${index}, written at 2030-01-02T03:04:05.678Z, is entry ${index} of the log, and is missing from ` +
    'what was saved: it was withheld, with the decisions that it covers.';

  it('are exactly those in the log', async () => {
    expect(await compared()).toEqual({ verified: true, faults: [], notes: [] });
  });

  it('reports a withheld one: the last of a process, or all of one', async () => {
    expect((await compared(({ heads, keep }) => keep(heads.slice(0, 3)))).faults).toEqual([withheld(3)]);
    const { faults } = await compared(({ heads, keep }) => keep(heads.slice(0, 2)));
    expect(faults).toEqual([withheld(2), withheld(3)]);
    const later = await compared(({ heads, keep }) => keep(heads.slice(0, 3)), { from: '2030-01-02T03:04:06Z' });
    expect(later.faults.join()).not.toContain('withheld');
  });

  it('reports one that is not in the log', async () => {
    const { faults } = await compared(({ directory }) => {
      const bytes = readFileSync(bundle(directory));
      writeFileSync(bundle(directory), Buffer.from(bytes.toString('latin1').replace('head-3', 'head-X'), 'latin1'));
    });
    expect(faults).toEqual([
      withheld(3).replace('head-3', 'head-X'),
      `log root: The entries of ${CHANNEL} do not hash to the signed root.`,
      `not in the log: Head head-3 was saved as entry 3 of ${CHANNEL}, and that entry is another one.`,
    ]);
  });

  it('needs the whole log, signed by the pinned key', async () => {
    expect((await compared(({ directory }) => rmSync(bundle(directory)))).faults).toEqual([
      'log entries: Entries 0 and on are missing: withheld heads cannot be told.',
    ]);
    const cut = await compared(({ directory }) =>
      writeFileSync(bundle(directory), readFileSync(bundle(directory)).subarray(1)),
    );
    expect(cut.faults[0]).toContain('log entries: ');
    const { faults } = await compared(({ directory }) => {
      const file = `${directory}/copy/checkpoint`;
      const text = checkpointText(parseCheckpoint(readFileSync(file, 'utf8')));
      writeFileSync(file, noteSigner(generateNoteKey('log.example/ledger').privateKey).sign(text));
    });
    expect(faults).toEqual([expect.stringContaining('log signature: The checkpoint is not signed by the pinned key')]);
  });

  it('reports those that were not compared: newer than the copy', async () => {
    const { verified, notes } = await compared(({ directory, key }) => {
      const older = checkpointOver(readFileSync(bundle(directory)), 2);
      writeFileSync(`${directory}/copy/checkpoint`, noteSigner(key.privateKey).sign(older));
      writeFileSync(`${directory}/copy/${bundlePath({ index: 0, width: 2 })}`, readFileSync(bundle(directory)));
    });
    expect(verified).toBe(true);
    expect(notes).toEqual([expect.stringContaining('2 heads are newer than the checkpoint of')]);
  });
});

/** A checkpoint over the first entries of a bundle. */
function checkpointOver(bundle: Buffer, size: number): string {
  const tree = TileTree.empty();
  tree.append(Buffer.concat(entriesOf(bundle).slice(0, size).map(leafHash)));
  return checkpointText({ origin: `log.example/ledger/${CHANNEL}`, size, root: tree.root() });
}
