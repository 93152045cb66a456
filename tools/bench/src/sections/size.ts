import type { SizedSurfaceName } from '../bench-options.ts';
import type { BenchContext } from '../bench-context.ts';
import type { ReportTable, SectionReport } from '../report.ts';
import { quietness } from '../rows/rows-report.ts';
import { compareSizes, type Compared } from '../size/compare-sizes.ts';
import { costTable, worstCosts } from '../size/size-cost.ts';
import { sizedGate } from '../size/size-gate.ts';
import { sizedGateway } from '../size/size-gateway.ts';
import { sizedRisk } from '../size/size-risk.ts';
import type { SizedSurface } from '../size/sized-surface.ts';
import { right, wholeNumber } from '../text-table.ts';
import { withStack } from './table-section.ts';

export const sizedSurfaceOf: Readonly<Record<SizedSurfaceName, SizedSurface>> = {
  d: sizedGateway,
  b: sizedGate,
  a: sizedRisk,
};

/** Each surface filled, and beside the demo's size what everything costs then. One after the other: each has the disk. */
export async function sizeSection(context: BenchContext): Promise<SectionReport> {
  const { size, sizedSurfaces } = context.options;
  const all: [string, Compared][] = [];
  for (const letter of sizedSurfaces) {
    const sized = sizedSurfaceOf[letter];
    all.push([sized.surface, await withStack(context, (stack) => compareSizes(context, { sized, stack }))]);
  }
  const withheld = all.flatMap(([name, { faults }]) => faults.map((fault) => `${name}: ${fault}`));
  const isValid = withheld.length === 0;
  return {
    title: `Size ${size} beside the demo's size`,
    tables: all.flatMap(([, { costs, weighed }]) => [costTable(costs, `size ${size}`), weightTable(weighed)]),
    notes: [
      'Both sizes of a surface are measured in turn, with the same server and after the same warming up. "us of CPU": of all servers, 16 connections; "ms": the median of one connection. Of all paths of the OpenAPI documents, each filter alone, the slowest are shown (the best of three times, of the slowest of ten).',
      ...all.map(([name, one]) => noteOf(name, one)),
      quietness(all.flatMap(([, { summaries }]) => summaries.map(({ otherShare }) => otherShare))),
    ],
    findings: all.flatMap(([name, { costs }]) =>
      worstCosts(costs, name).map((finding) => (isValid ? finding : { ...finding, value: undefined })),
    ),
    withheld,
    measured: Object.fromEntries(all),
  };
}

const noteOf = (name: string, { fillMs, databaseBytes, bufferBytes, askedPaths }: Compared): string =>
  `${name}: filled in ${wholeNumber(fillMs / 1_000)} s, ${mebibytes(databaseBytes)} MiB of PostgreSQL, its buffers ${mebibytes(bufferBytes)} MiB; ${askedPaths} paths asked for.`;

const mebibytes = (bytes: number): string => wholeNumber(bytes / 1024 ** 2);

const weightTable = (weighed: Compared['weighed']): ReportTable => ({
  columns: [{ name: 'bytes of PostgreSQL' }, ...['how many', 'MiB', 'bytes each', 'of them indexes'].map(right)],
  rows: weighed.map(({ what, rows, bytes, indexBytes }) => [
    what,
    wholeNumber(rows),
    mebibytes(bytes),
    wholeNumber(bytes / rows),
    wholeNumber(indexBytes / rows),
  ]),
});
