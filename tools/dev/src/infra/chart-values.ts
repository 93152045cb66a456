import { isMap, isScalar, parseDocument, type Pair, type YAMLMap } from 'yaml';
import { readProjectFile } from '../rules/project-files.ts';

interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly definitions?: Readonly<Record<string, Schema>>;
}

const schema = JSON.parse(readProjectFile('infra/helm/values.schema.json')) as Schema;
const deref = (found: Schema | undefined): Schema | undefined =>
  found?.$ref === undefined ? found : schema.definitions?.[found.$ref.replace('#/definitions/', '')];

/** A row for each value of the chart: path, type, default, and its comment in values.yaml. */
export function chartValuesTable(): string {
  const document = parseDocument(readProjectFile('infra/helm/values.yaml'));
  const rows = rowsOf(document.contents as YAMLMap, schema, '');
  const lines = rows.map((cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`);
  return ['| value | form | default | |', '| - | - | - | - |', ...lines].join('\n');
}

function rowsOf(map: YAMLMap, at: Schema | undefined, prefix: string): string[][] {
  return (map.items as readonly Pair<{ value: string; commentBefore?: string | null }, unknown>[]).flatMap(
    ({ key, value }, index) => {
      const path = `${prefix}${key.value}`;
      const of = deref(at?.properties?.[key.value]);
      // A comment above the first member of a map belongs to the map.
      const above = key.commentBefore ?? (index === 0 ? map.commentBefore : undefined);
      // The last paragraph: the first value is below the comment of the whole file.
      const said = (above ?? '')
        .split('\n\n')
        .at(-1)!
        .split('\n')
        .map((line) => line.trim())
        .join(' ')
        .trim();
      if (isMap(value) && value.items.length > 0 && of?.properties !== undefined) {
        const inner = rowsOf(value, of, `${path}.`);
        return said === '' ? inner : [[`\`${path}\``, '', '', said], ...inner];
      }
      const shown = isScalar(value) ? value.value : (value as { toJSON(): unknown }).toJSON();
      return [[`\`${path}\``, formOf(of), `\`${JSON.stringify(shown)}\``, said]];
    },
  );
}

function formOf(of: Schema | undefined): string {
  if (of === undefined) return '';
  if (of.enum !== undefined) return of.enum.map((one) => `\`${String(one)}\``).join(', ');
  if (of.anyOf !== undefined)
    return (
      of.anyOf
        .map((one) => formOf(deref(one)))
        .filter(Boolean)
        .join(', ') || 'a name'
    );
  const range =
    of.minimum === undefined ? '' : ` from ${of.minimum}${of.maximum === undefined ? '' : ` to ${of.maximum}`}`;
  return `${[of.type ?? []].flat().join(' or ')}${range}`;
}
