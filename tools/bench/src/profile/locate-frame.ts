import { SourceMap, type SourceMapping, type SourceMapPayload } from 'node:module';
import { dirname, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { CallFrame, Place } from './cpu-profile.ts';

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
