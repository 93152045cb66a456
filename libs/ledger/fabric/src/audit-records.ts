import type { AuditReport } from '@sealgate/ledger-port';
import type { ChannelMap, ChannelPlace } from './channel-map.ts';
import { isAsHashed, type ContractRecord } from './records-contract.ts';

const PAGE_SIZE = 200;

/**
 * Recomputes the content hash of every record of a channel. Earlier versions, and missing records, are covered by the
 * channel's blocks, which every peer verifies; they are not checked here.
 */
export async function auditRecords(
  {
    channels,
    ask,
  }: {
    readonly channels: ChannelMap;
    readonly ask: (place: ChannelPlace, transaction: string, args: readonly string[]) => Promise<Buffer>;
  },
  channel: string,
  signal?: AbortSignal,
): Promise<AuditReport> {
  const place = channels.find(channel);
  if (place === undefined) {
    return { ok: false, size: 0, firstBadRecordId: null, problem: `no Fabric channel holds ${channel}` };
  }
  let size = 0;
  let bookmark = '';
  do {
    signal?.throwIfAborted();
    const answer = await ask(place, 'list', [place.prefix, String(PAGE_SIZE), bookmark]);
    const page = JSON.parse(answer.toString('utf8')) as { records: ContractRecord[]; bookmark: string };
    for (const record of page.records) {
      const id = record.id.slice(place.prefix.length);
      if (!record.id.startsWith(place.prefix)) continue;
      if (!isAsHashed(record)) {
        return {
          ok: false,
          size,
          firstBadRecordId: id,
          problem: `the content of record ${size} is not what was hashed`,
        };
      }
      size += 1;
    }
    bookmark = page.bookmark;
  } while (bookmark !== '');
  return { ok: true, size, firstBadRecordId: null, problem: null };
}
