/** `400 INVALID_REQUEST /title` of a refusal: status, code, and the pointer of each fault. `200 ` of an answer. */
export async function refusalText(
  answer: Promise<{ readonly status: number; readonly json: unknown }>,
): Promise<string> {
  const { status, json } = await answer;
  const { code, errors = [] } = (json ?? {}) as { code?: string; errors?: { pointer: string }[] };
  return [status, code, ...errors.map(({ pointer }) => pointer)].join(' ');
}
