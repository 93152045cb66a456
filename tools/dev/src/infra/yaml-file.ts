import { parseAllDocuments } from 'yaml';
import { readProjectFile } from '../rules/project-files.ts';

/** The documents of a text of YAML, empty ones left out, with `<<` merged. Throws Error at what is no YAML, or has a key twice. */
export function parseYaml(text: string): unknown[] {
  return parseAllDocuments(text, { merge: true }).flatMap((document) => {
    const [error] = document.errors;
    if (error !== undefined) throw error;
    const value: unknown = document.toJSON();
    return value == null ? [] : [value];
  });
}

/** The one document of a file of the project. */
export const readYaml = (path: string): unknown => parseYaml(readProjectFile(path))[0];
