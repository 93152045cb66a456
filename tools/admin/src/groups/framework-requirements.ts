import { UsageError } from '../errors.ts';
import { isObject, type JsonObject } from '../json-object.ts';
import { readNamed } from '../read-named.ts';
import type { Row } from '../row-command.ts';
import { rowFields } from '../row-table.ts';

export const createFramework: Row = {
  operation: 'createFramework',
  details:
    'Requirements are given as <id>=<title>, or in a file with a line "<id> <title>" for each, such as --requirements annex-a.txt.',
  examples: [
    "sealgate frameworks create org_01 --name 'House rules' --framework-version 1 --requirement 'H.1=Lock the door'",
  ],
  options: {
    '--framework-version <text>': { sets: 'version' },
    '--requirement <id=title>': { words: 'a requirement', sets: 'requirements', byCode: true, list: true },
    '--requirements <file>': { words: 'a file of requirements, one per line', byCode: true },
  },
  complete: async (body, { given }) => {
    const { requirement = [], requirements: file } = given as { requirement?: string[]; requirements?: string };
    const named = requirement.map((text) => parted(text, '='));
    const read = file === undefined ? [] : linesOf(file).map((line) => parted(line, ' '));
    if (named.length + read.length === 0) throw new UsageError('Give --requirement or --requirements.');
    body['requirements'] = [...named, ...read];
  },
  done: 'The framework was created.',
  text: frameworkText,
};

function linesOf(file: string): string[] {
  const lines = readNamed(file).toString().split('\n');
  return lines.map((line) => line.trim()).filter((line) => line !== '');
}

function parted(text: string, between: string): { id: string; title: string } {
  const at = text.indexOf(between);
  if (at < 1) throw new UsageError(`A requirement must have the form <id>${between}<title>.`);
  return { id: text.slice(0, at), title: text.slice(at + between.length).trim() };
}

export function frameworkText({ requirements, ...row }: JsonObject): string {
  const listed = Array.isArray(requirements) ? requirements.filter(isObject) : [];
  const texts = Object.fromEntries(listed.map(({ id, title }) => [String(id), title ?? null]));
  return `${rowFields(row)}\n${rowFields(texts)}`;
}
