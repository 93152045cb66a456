import { SourceMap, type SourceMapPayload, type SourceMapping } from 'node:module';
import { dirname, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The parts of a V8 CPU profile that are used here; lines and columns count from 0, times are microseconds. */
export interface CpuProfile {
  readonly nodes: readonly ProfileNode[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

/** A node of the call tree: a function with a chain of callers. */
interface ProfileNode {
  readonly id: number;
  readonly callFrame: CallFrame;
  readonly children?: readonly number[];
}

/** `url` is empty for native functions, and for V8's pseudo-functions in parentheses. */
interface CallFrame {
  readonly functionName: string;
  readonly url: string;
  readonly lineNumber: number;
  readonly columnNumber: number;
}

export interface Place {
  /** The owner: a package, one of our libs or apps, or a part of Node. */
  readonly module: string;
  /** The original file and line. */
  readonly at: string;
}

export interface Cost {
  readonly name: string;
  readonly microseconds: number;
}

export interface ProfileSummary {
  /** All time that was not idle. */
  readonly busyUs: number;
  /** By module, and by function with its module and place; most expensive first, self time only. */
  readonly modules: readonly Cost[];
  readonly functions: readonly Cost[];
}

type Locate = (callFrame: CallFrame) => Place;

/**
 * Sums the self time of every function. A module is also charged for Node's and native code that it called (a hash, a
 * system call), since that module caused it. `locate` finds the original place of a frame that has a file.
 */
export function summariseProfile({ nodes, samples, timeDeltas }: CpuProfile, locate: Locate): ProfileSummary {
  const ownUs = new Map<number, number>();
  for (const [position, id] of samples.entries()) {
    // A delta is the time before its sample, during which the previous sample's function ran.
    add(ownUs, id, Math.max(0, timeDeltas[position + 1] ?? 0));
  }
  const parents = new Map(nodes.flatMap((node) => (node.children ?? []).map((child) => [child, node] as const)));
  const modules = new Map<string, number>();
  const functions = new Map<string, number>();
  let busyUs = 0;
  for (const node of nodes) {
    const microseconds = ownUs.get(node.id) ?? 0;
    const { functionName } = node.callFrame;
    if (microseconds === 0 || functionName === '(idle)') continue;
    busyUs += microseconds;
    const caller = functionName.startsWith('(') ? undefined : nearestWithFile(node, parents);
    const place = caller === undefined ? undefined : locate(caller.callFrame);
    add(modules, moduleThatCalled(caller, parents, locate) ?? nativeName(functionName), microseconds);
    add(functions, describe(node, caller, place), microseconds);
  }
  return { busyUs, modules: dearestFirst(modules), functions: dearestFirst(functions) };
}

function nearestWithFile(node: ProfileNode, parents: ReadonlyMap<number, ProfileNode>): ProfileNode | undefined {
  let found: ProfileNode | undefined = node;
  while (found !== undefined && found.callFrame.url === '') found = parents.get(found.id);
  return found;
}

/** Node's own module where there is no other caller: the event loop itself called it. */
function moduleThatCalled(
  caller: ProfileNode | undefined,
  parents: ReadonlyMap<number, ProfileNode>,
  locate: Locate,
): string | undefined {
  let outermost: string | undefined;
  for (let above = caller; above !== undefined; above = parents.get(above.id)) {
    if (above.callFrame.url === '') continue;
    const { module } = locate(above.callFrame);
    if (!module.startsWith('node:')) return module;
    outermost ??= module;
  }
  return outermost;
}

const nameOf = ({ callFrame }: ProfileNode): string => callFrame.functionName || 'anonymous';
const nativeName = (functionName: string): string => (functionName.startsWith('(') ? functionName : '(native)');

function describe(node: ProfileNode, caller: ProfileNode | undefined, place: Place | undefined): string {
  if (caller === undefined || place === undefined) return nameOf(node);
  const native = caller === node ? '' : `${nameOf(node)}, called by `;
  return `${native}${nameOf(caller)} (${place.at})`;
}

function add<Key>(costs: Map<Key, number>, key: Key, microseconds: number): void {
  costs.set(key, (costs.get(key) ?? 0) + microseconds);
}

function dearestFirst(costs: ReadonlyMap<string, number>): Cost[] {
  return [...costs]
    .map(([name, microseconds]) => ({ name, microseconds }))
    .sort((a, b) => b.microseconds - a.microseconds);
}

/** Finds the owner of a frame of the bundle by the bundle's own source map. Files are relative to `root`. */
export function frameLocator(options: {
  readonly bundle: string;
  readonly map: SourceMapPayload;
  /** Further files of the bundle, each with its own map. */
  readonly chunks?: ReadonlyMap<string, SourceMapPayload>;
  readonly root: string;
}): (frame: CallFrame) => Place {
  const { bundle, map, chunks = new Map<string, SourceMapPayload>(), root } = options;
  const maps = new Map([...chunks, [bundle, map] as const].map(([file, each]) => [file, new SourceMap(each)]));
  return ({ url, lineNumber, columnNumber }) => {
    if (!url.startsWith('file:')) return { module: moduleOf(url), at: `${url}:${lineNumber + 1}` };
    const file = fileURLToPath(url);
    const entry: Partial<SourceMapping> = maps.get(file)?.findEntry(lineNumber, columnNumber) ?? {};
    const { originalSource, originalLine = lineNumber } = entry;
    const source = relative(root, originalSource === undefined ? file : resolve(dirname(bundle), originalSource));
    return { module: moduleOf(source), at: `${source.replace(/^.*node_modules\//, '')}:${originalLine + 1}` };
  };
}

/** The package, our lib or app, or the part of Node that a file belongs to. */
function moduleOf(file: string): string {
  const installed = [...file.matchAll(/node_modules\/((?:@[^/]+\/)?[^/]+)/g)].at(-1)?.[1];
  const ours = /^(?:libs\/(?:ledger\/)?[^/]+|apps\/[^/]+\/src\/[^/]+|tools\/[^/]+)/.exec(file)?.[0];
  const ofNode = /^node:(?:internal\/[^/]+|[^/]+)/.exec(file)?.[0];
  return installed ?? ours ?? ofNode ?? file;
}
