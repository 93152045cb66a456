import type { Seen } from '../history.ts';
import { Findings, type Check } from './check.ts';
import { MerkleRoots } from './merkle-roots.ts';
import { noteKey, readCheckpoint } from './signed-note.ts';

/** The signed roots of a channel by size, each with the first line that had it. */
type Heads = Map<number, Map<string, number>>;

interface View {
  readonly size: number;
  readonly atMs: number;
}

/** Every checkpoint is signed, and its root is that over the first leaves of the rows; none goes back in one view. */
export function checkpoints(): Check {
  const findings = new Findings('every checkpoint that anybody saw is consistent with the log');
  const signers: ReturnType<typeof noteKey>[] = [];
  const heads = new Map<string, Heads>();
  const views = new Map<string, View[]>();
  const trees = new Map<string, MerkleRoots>();
  const treeOf = (channel: string): MerkleRoots => {
    const tree = trees.get(channel) ?? new MerkleRoots();
    trees.set(channel, tree);
    return tree;
  };
  const breachOf = (seen: Seen, number: number): string | undefined => {
    const read = readCheckpoint(seen.text, signers);
    if (typeof read === 'string') return `the checkpoint of ${seen.channel} ${read}`;
    if (!read.origin.endsWith(`/${seen.channel}`))
      return `a checkpoint of ${read.origin} was shown for ${seen.channel}`;
    const ofChannel: Heads = heads.get(seen.channel) ?? new Map();
    const roots = ofChannel.get(read.size) ?? new Map<string, number>();
    heads.set(seen.channel, ofChannel.set(read.size, roots));
    if (!roots.has(read.root)) roots.set(read.root, number);
    return goneBack(views, seen, read.size) ? `${seen.from} showed ${seen.channel} smaller than before` : undefined;
  };
  const compare = (channel: string, tree: MerkleRoots): void => {
    const roots = heads.get(channel)?.get(tree.size);
    if (roots === undefined) return;
    const ofRows = tree.root();
    for (const [root, number] of roots)
      if (root !== ofRows)
        findings.add(`line ${number}: the root of ${channel} at ${tree.size} is not that of its rows`);
  };
  return {
    line(line, number) {
      if (line.is === 'known') signers.push(...line.verifierKeys.map(noteKey));
      if (line.is !== 'checkpoint') return;
      const breach = breachOf(line, number);
      findings.judge(breach && `line ${number}: ${breach}`);
    },
    record({ channel, index, leafOfColumns, leafHash }) {
      if (leafHash === undefined) return;
      const tree = treeOf(channel);
      if (index !== tree.size) findings.add(`${channel}: index ${tree.size} has no row`);
      if ((leafOfColumns ?? leafHash) !== leafHash)
        findings.add(`${channel}/${index}: the row is not what its leaf was made of`);
      tree.add(Buffer.from(leafHash, 'hex'));
      compare(channel, tree);
    },
    close({ distinct }) {
      for (const [channel, sizes] of distinct.length > 0 ? heads : []) {
        compare(channel, new MerkleRoots());
        const { size } = treeOf(channel);
        for (const [signed, roots] of sizes)
          for (const number of signed > size ? roots.values() : [])
            findings.add(`line ${number}: ${channel} was signed at ${signed} and has ${size} rows`);
      }
      return Promise.resolve(findings.verdict());
    },
  };
}

/** As many of the newest views of a replica are compared. */
const VIEWS = 50;

/** Whether a replica showed a smaller tree than it had shown before this one was asked for. */
function goneBack(views: Map<string, View[]>, { from, startedMs, channel, atMs }: Seen, size: number): boolean {
  if (from === undefined || startedMs === undefined) return false;
  const name = `${from} ${channel}`;
  const before = views.get(name) ?? [];
  views.set(name, [...before, { size, atMs }].slice(-VIEWS));
  return before.some((view) => view.atMs < startedMs && view.size > size);
}
