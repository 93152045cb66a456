/** However many rows there are: an export is read for so long, and its cost is that of a row. */
const readForMs = 60_000;
const newline = 0x0a;

/** Reads a CSV export. Returns microseconds a row. Throws when it fails, or ends before so many rows. */
export async function exportRows({
  url,
  headers,
  least,
}: {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly least: number;
}): Promise<number> {
  const abort = new AbortController();
  const startedAt = performance.now();
  const answer = await fetch(url, { headers, signal: abort.signal });
  if (answer.status !== 200 || answer.body === null) throw new Error(`The export answered ${answer.status}.`);
  let rows = -1; // The first line has the names of the columns.
  for await (const chunk of answer.body) {
    for (let at = chunk.indexOf(newline); at >= 0; at = chunk.indexOf(newline, at + 1)) rows += 1;
    if (performance.now() - startedAt > readForMs) break;
  }
  const tookMs = performance.now() - startedAt;
  abort.abort();
  if (rows < least) throw new Error(`The export has ${rows} rows, and ${least} at least were expected.`);
  return (tookMs * 1_000) / rows;
}
