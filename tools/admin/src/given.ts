import type { JsonValue } from '@sealgate/json';

/** The members that have a value: an option that was not given is no member of a body. */
export function given(members: Readonly<Record<string, JsonValue | undefined>>): { [member: string]: JsonValue } {
  const body: { [member: string]: JsonValue } = {};
  for (const [name, value] of Object.entries(members)) if (value !== undefined) body[name] = value;
  return body;
}
