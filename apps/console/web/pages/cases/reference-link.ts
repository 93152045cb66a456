/** The address of a reference that is one: https only, without credentials. Other references name a place in a vault. */
export function addressOf(reference: string): string | undefined {
  if (!URL.canParse(reference)) return undefined;
  const { protocol, username, password, href } = new URL(reference);
  return protocol === 'https:' && username === '' && password === '' ? href : undefined;
}
