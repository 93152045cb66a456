import { dataHashOf } from '@sealgate/envelope';
import type { Receipt } from '@sealgate/envelope';
import { canonical } from '@sealgate/json';
import type { Bytes, JsonValue } from '@sealgate/json';
import type { ReceiptFile, StatedContent } from './receipt-file.ts';
import type { Reporter } from './report.ts';
import { hashBytes, isObject } from './shape.ts';

const ERASED = 'Proved: something was written then; its content was erased.';

/**
 * Checks what is said to be the content of a record against the hash in its receipt. Returns the sentence for the
 * conclusion: what is proved about the content.
 */
export function checkContent(
  report: Reporter,
  { name, receipt }: ReceiptFile,
  contents: readonly StatedContent[],
): string {
  if (receipt.salt === null) return checkErased(report, { name, receipt }, contents);
  const salt = hashBytes(receipt.salt);
  if (salt === undefined) {
    const expected = '64 lower hex digits, or null';
    const where = `${name}#/receipt/salt`;
    report.failed('content', { detail: 'The salt is malformed.', where, expected, found: receipt.salt });
    return '';
  }
  for (const content of contents) checkOne(report, { receipt, salt }, content);
  if (contents.length > 0) return 'Its content is proved.';
  report.skipped('content', 'The content was not given, so its hash was not recomputed.');
  return 'Its content was not given, so only its hash is proved.';
}

function checkOne(
  report: Reporter,
  { receipt, salt }: { receipt: Receipt; salt: Bytes },
  content: StatedContent,
): void {
  const found = dataHashOf(salt, content.data, receipt.extra);
  if (found !== receipt.dataHash && isWhole(content.data, { receipt, salt })) {
    report.ok('content', `Salt, ${content.where}/data and extra hash to dataHash.`);
    return;
  }
  report.equal('content', {
    ok: `Salt, ${content.where.replace(/#$/, '')} and extra hash to dataHash.`,
    failed: 'This is not the content that was written: it does not hash to dataHash.',
    where: content.where,
    expected: receipt.dataHash,
    found,
  });
}

/** Whether a whole saved record was given where its data was asked for. The hash decides, so nothing is guessed. */
function isWhole(value: JsonValue, { receipt, salt }: { receipt: Receipt; salt: Bytes }): boolean {
  const data = isObject(value) ? value['data'] : undefined;
  return data !== undefined && dataHashOf(salt, data, receipt.extra) === receipt.dataHash;
}

function checkErased(
  report: Reporter,
  { name, receipt }: { name: string; receipt: Receipt },
  contents: readonly StatedContent[],
): string {
  if (receipt.extra !== null) {
    report.failed('content', {
      detail: 'The salt is erased, so nothing can prove this extra.',
      where: `${name}#/receipt/extra`,
      expected: 'null',
      found: canonical(receipt.extra),
    });
  }
  const [stated] = contents.filter(({ data }) => data !== null);
  if (stated !== undefined) {
    report.failed('content', {
      detail: 'The salt is erased, so nothing can prove this content.',
      where: stated.where,
      expected: 'null',
      found: 'content',
    });
  }
  if (receipt.extra === null && stated === undefined) report.ok('content', ERASED);
  return ERASED;
}
