import { readProjectFile } from '../rules/project-files.ts';
import { appsWith } from '../workspace.ts';

/** A variable in the README of its surface. */
export interface Variable {
  readonly name: string;
  readonly isSecret: boolean;
  readonly isRequired: boolean;
}

const BETWEEN = /<!-- config:begin -->([\s\S]*?)<!-- config:end -->/;
const ROW = /^\| `([A-Z0-9_]+)` \|.*\|([^|]*)\|([^|]*)\|$/;

/** The variables in the generated table of the app's README; undefined without a table. */
function configTableOf(app: string): Variable[] | undefined {
  const [, table] = BETWEEN.exec(readProjectFile(`apps/${app}/README.md`)) ?? [];
  return table?.split('\n').flatMap((line) => {
    const [, name, form = '', fallback = ''] = ROW.exec(line.replaceAll('\\|', '')) ?? [];
    return name === undefined
      ? []
      : [{ name, isSecret: form.trim().endsWith('; secret'), isRequired: fallback.trim() === 'required' }];
  });
}

/** The surfaces with a configuration table, by their folders. */
export const configuredSurfaces = appsWith('README.md').flatMap((app) => {
  const variables = configTableOf(app);
  return variables === undefined ? [] : [{ app, variables }];
});
