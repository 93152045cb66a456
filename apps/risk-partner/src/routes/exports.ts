import { formatParameter, sendDownload, type HandlerContext } from '@sealgate/http';
import { EXPORT_FORMATS, EXPORT_TYPES, exportText, type ExportFormat } from '@sealgate/paging';
import { Type, type TProperties } from '@sinclair/typebox';
import type { RiskCaller } from '../domain/caller.ts';

/** Writes the audit event of an export. */
export type RecordExport = (
  by: { readonly caller: RiskCaller; readonly requestId: string },
  exported: {
    /** What is exported: `risk`. */
    readonly resource: string;
    /** Its list: `risks`. */
    readonly collection: string;
    /** The filters, the search, the order and the format. */
    readonly query: Readonly<Record<string, string>>;
  },
) => Promise<void>;

/** The query of an export: that of its list without pages. */
export const exportQuery = (asking: TProperties) =>
  Type.Object({ ...asking, format: formatParameter(EXPORT_FORMATS) }, { additionalProperties: false });

/** A validated query of an export. */
export type ExportQuery = Readonly<Record<string, string>> & { readonly format: ExportFormat };

/** What the export routes have in common. */
export const exporting = {
  method: 'get',
  looks: 'stream',
  raw: true,
  charge: 1,
  idempotency: 'none',
  tags: ['dashboard'],
  description: 'All rows of the list that pass its filters, as a stream. An export is recorded in the audit first.',
  responses: {
    200: {
      description: 'The rows.',
      contentType: EXPORT_TYPES.csv,
      otherTypes: [EXPORT_TYPES.jsonl],
      headers: { 'Content-Disposition': 'A name for the file.' },
    },
  },
} as const;

interface Export {
  /** Without an extension. */
  readonly fileName: string;
  readonly format: ExportFormat;
  readonly columns: readonly string[];
  readonly pages: AsyncIterable<readonly object[]>;
  /** Called before the first byte is sent, once the first page has been read. May refuse. */
  begin(): Promise<void>;
}

/** Sends an export. What fails before the first page has been read is an answer of its own. */
export async function sendExport(
  { response }: Pick<HandlerContext<RiskCaller, unknown, unknown, unknown>, 'response'>,
  { fileName, format, columns, pages, begin }: Export,
): Promise<void> {
  const iterator = pages[Symbol.asyncIterator]();
  const first = await iterator.next();
  const rows = first.done === true ? [] : first.value;
  await begin();
  async function* all() {
    yield rows;
    yield* { [Symbol.asyncIterator]: () => iterator };
  }
  const chunks = exportText(all(), { format, columns });
  await sendDownload(response, { contentType: EXPORT_TYPES[format], fileName: `${fileName}.${format}`, chunks });
}
