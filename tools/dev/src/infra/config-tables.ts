import { readProjectFile } from '../rules/project-files.ts';
import { appsWith } from '../workspace.ts';

/** A variable as the README of its surface tells it. */
export interface Variable {
  readonly name: string;
  readonly isSecret: boolean;
  readonly isRequired: boolean;
}

const BETWEEN = /<!-- config:begin -->([\s\S]*?)<!-- config:end -->/;
const ROW = /^\| `([A-Z0-9_]+)` \|.*\|([^|]*)\|([^|]*)\|$/;

/** The configuration of the app, from the generated table in its README; undefined where it has none. */
function configTableOf(app: string): Variable[] | undefined {
  const [, table] = BETWEEN.exec(readProjectFile(`apps/${app}/README.md`)) ?? [];
  return table?.split('\n').flatMap((line) => {
    const [, name, form = '', fallback = ''] = ROW.exec(line.replaceAll('\\|', '')) ?? [];
    return name === undefined
      ? []
      : [{ name, isSecret: form.trim().endsWith('; secret'), isRequired: fallback.trim() === 'required' }];
  });
}

/** The surfaces that say how they are configured, by their folders. */
export const configuredSurfaces = appsWith('README.md').flatMap((app) => {
  const variables = configTableOf(app);
  return variables === undefined ? [] : [{ app, variables }];
});
