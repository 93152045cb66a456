/** The Link header (RFC 8288) of a bare list that goes on; nothing on its last page. What was asked is repeated as it was sent. */
export function nextLink(
  path: string,
  asked: Readonly<Record<string, string | undefined>>,
  cursor: string | undefined,
): { headers?: Readonly<Record<string, string>> } {
  if (cursor === undefined) return {};
  const repeated = Object.entries({ ...asked, cursor }).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  return { headers: { Link: `<${path}?${new URLSearchParams(repeated).toString()}>; rel="next"` } };
}
