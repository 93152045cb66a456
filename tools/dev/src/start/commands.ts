import { join, resolve } from 'node:path';
import { workspaceRoot } from '../workspace.ts';

/** Where the data lies when nobody says otherwise. */
export const defaultData = resolve(workspaceRoot, '.sealgate');

/** `npm start` or `npm stop` as it is to be typed for that data. */
export function npmCommand(command: 'start' | 'stop', dataPath: string): string {
  return dataPath === defaultData ? `npm ${command}` : `npm ${command} -- --data ${quoted(dataPath)}`;
}

/** `npx sealgate` with those words, as it is to be typed for that data. */
export function adminCommand(words: string, dataPath: string): string {
  const named = dataPath === defaultData ? '' : ` --dev-json ${quoted(join(dataPath, 'dev.json'))}`;
  return `npx sealgate ${words}${named}`;
}

/** A path as a shell takes it. */
export const quoted = (path: string): string => (/^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`);
