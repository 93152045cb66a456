/** The Link header (RFC 8288) of a bare list that goes on; nothing on its last page. `limit` is repeated as it was sent. */
export function nextLink(
  path: string,
  limit: string | undefined,
  cursor: string | undefined,
): { headers?: Readonly<Record<string, string>> } {
  if (cursor === undefined) return {};
  const query = limit === undefined ? `cursor=${cursor}` : `limit=${limit}&cursor=${cursor}`;
  return { headers: { Link: `<${path}?${query}>; rel="next"` } };
}
