// Generates TypeScript clients of every document: `node generate-typescript.mjs <folder> <name=document>...`.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { createClient } from '@hey-api/openapi-ts';
import openapiTS, { astToString } from 'openapi-typescript';

const [folder, ...documents] = process.argv.slice(2);
const plugins = ['@hey-api/client-fetch', '@hey-api/sdk', '@hey-api/typescript'];
mkdirSync(join(folder, 'types'), { recursive: true });
for (const document of documents) {
  const [name, input] = document.split('=');
  writeFileSync(join(folder, 'types', `${name}.ts`), astToString(await openapiTS(pathToFileURL(input))));
  await createClient({ input, output: join(folder, 'hey', name), plugins, logs: { level: 'silent' } });
}
