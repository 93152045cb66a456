import { releaseStack, type BenchContext, type ReleaseStack } from '../bench-context.ts';
import type { SectionReport } from '../report.ts';
import { measureRows } from '../rows/measure-rows.ts';
import type { Row } from '../rows/row.ts';
import { rowsReport, type RowsSection } from '../rows/rows-report.ts';

/** Runs `measure` with resources that are released at its end, or at that of an interrupted run. */
export async function withStack<Result>(
  context: BenchContext,
  measure: (stack: ReleaseStack) => Promise<Result>,
): Promise<Result> {
  const stack = releaseStack();
  context.stack.own('the servers of a section', async () => void (await stack.releaseAll()));
  const result = await measure(stack);
  await stack.releaseAll();
  return result;
}

/** A section that is one table: its servers with their load and proof as rows, and what was found beside them. */
export const tableSection =
  (
    prepare: (
      context: BenchContext,
      stack: ReleaseStack,
    ) => Promise<Omit<RowsSection, 'measured'> & { readonly rows: readonly Row[] }>,
  ): ((context: BenchContext) => Promise<SectionReport>) =>
  (context) =>
    withStack(context, async (stack) => {
      context.tell('Starting the servers of the table');
      const { rows, ...section } = await prepare(context, stack);
      return rowsReport(context, { ...section, measured: { server: await measureRows(context, rows) } });
    });
