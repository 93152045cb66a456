import type { RecordReceipt } from '@sealgate/ledger-port';
import type { WriteOutcome } from './write-records.ts';

/**
 * The answer of a write as JSON text, in the documented order of members. Rendered here and not by JSON.stringify
 * because all but the ids is hex, numbers and names that need no escaping; a test holds the two together. A replay
 * sends these same bytes again.
 */
export function renderAnswer(outcome: WriteOutcome): string {
  const { recordCount: total } = outcome;
  const transactionIds = outcome.transactionIds.map((id) => `"${id}"`).join(',');
  const records = outcome.records.map(renderReceipt).join(',');
  return (
    `{"transactionIds":[${transactionIds}],"summary":{"total":${total},"succeeded":${total},"failed":0},` +
    `"eventId":"${outcome.eventId}","records":[${records}],"strippedFields":${outcome.strippedFields}}`
  );
}

function renderReceipt({ id, transactionId, channel, index, epoch, leafHash, existing }: RecordReceipt): string {
  const of = epoch === undefined ? '' : `,"epoch":${epoch}`;
  const place = index === undefined ? '' : `,"index":${index}${of},"leafHash":"${leafHash}"`;
  return `{"id":${JSON.stringify(id)},"transactionId":"${transactionId}","channel":"${channel}"${place}${existing ? ',"existing":true' : ''}}`;
}

/** The answer of a delivery: what its sender may want to look up. */
export function renderDelivery({ eventId, records }: Pick<WriteOutcome, 'eventId' | 'records'>): string {
  return `{"eventId":"${eventId}","records":[${records.map(renderReceipt).join(',')}]}`;
}

/** The answer of a ping. */
export function renderPing(eventId: string): string {
  return `{"ping":true,"transactionIds":[],"summary":{"total":0,"succeeded":0,"failed":0},"eventId":"${eventId}"}`;
}
