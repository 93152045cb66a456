import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import openapiTS, { astToString } from 'openapi-typescript';
import { appsWith, workspaceRoot } from './workspace.ts';

/** The name of a file of types says which listener it is of: that of a public one is the surface's own. */
const DOCUMENTS = [
  { file: 'openapi.json', suffix: '' },
  { file: 'admin-openapi.json', suffix: '-admin' },
] as const;

/**
 * Makes the types of libs/client from the OpenAPI documents of every surface, beside their place and then exchanged: a
 * process that reads them meanwhile finds either the old ones or the new ones.
 * @throws Error where a document is not one of OpenAPI 3.
 */
export async function generateClientTypes(): Promise<void> {
  const place = join(workspaceRoot, 'libs/client/src/generated');
  const making = `${place}.${process.pid}`;
  mkdirSync(making, { recursive: true });
  try {
    for (const { file, suffix } of DOCUMENTS) {
      for (const app of appsWith(file)) {
        const document = readFileSync(join(workspaceRoot, 'apps', app, file), 'utf8');
        writeFileSync(join(making, `${app}${suffix}.ts`), astToString(await openapiTS(document)));
      }
    }
    rmSync(place, { recursive: true, force: true });
    renameSync(making, place);
  } finally {
    rmSync(making, { recursive: true, force: true });
  }
}
