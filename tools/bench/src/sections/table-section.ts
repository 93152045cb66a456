import { releaseStack, type BenchContext, type ReleaseStack } from '../bench-context.ts';
import type { SectionReport } from '../report.ts';
import { measureRows } from '../rows/measure-rows.ts';
import type { Row } from '../rows/row.ts';
import { rowsReport } from '../rows/rows-report.ts';

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

/** A section that is one table: its servers with their load and proof as rows, and the notes below. */
export function tableSection(section: {
  readonly title: string;
  readonly rows: (context: BenchContext, stack: ReleaseStack) => Promise<readonly Row[]>;
  readonly notes: readonly string[];
}): (context: BenchContext) => Promise<SectionReport> {
  return (context) =>
    withStack(context, async (stack) => {
      context.tell('Starting the servers of the table');
      const measured = await measureRows(context, await section.rows(context, stack));
      return rowsReport(context, { ...section, measured: { server: measured } });
    });
}
