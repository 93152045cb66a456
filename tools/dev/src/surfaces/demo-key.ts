import { textOf, type AdminClient } from '../start/admin-client.ts';
import type { Secrets } from '../start/secrets.ts';

export interface DemoKey {
  /** What it is remembered as; its id stands beside it under the same name and `Id`. */
  readonly name: string;
  /** Where keys are minted and read. */
  readonly path: string;
  readonly order: object;
}

/** The key of an earlier start, as long as nobody has revoked it or forgotten the database; else a new one. */
export async function demoKey(
  { admin, secrets }: { readonly admin: AdminClient; readonly secrets: Secrets },
  { name, path, order }: DemoKey,
): Promise<string> {
  const idName = `${name}Id`;
  const [known, id] = [secrets.recall(name), secrets.recall(idName)];
  if (known !== undefined && id !== undefined) {
    const { status, body } = await admin.get(`${path}/${id}`);
    if (status === 200 && body['revokedAt'] === null) return known;
  }
  const minted = await admin.post(path, order);
  const rawKey = textOf(minted, 'rawKey');
  secrets.remember(name, rawKey);
  secrets.remember(idName, textOf(minted, 'id'));
  return rawKey;
}
