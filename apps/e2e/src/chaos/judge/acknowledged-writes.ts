import { Findings, type Check } from './check.ts';
import type { KeyedWrites } from './keyed-writes.ts';
import { rowContent } from './sent-records.ts';

/** What senders were told to be written is in the rows once, where and as they were told; and nothing else is there. */
export function acknowledgedWrites(writes: KeyedWrites): Check {
  const findings = new Findings('every acknowledged write is in the rows exactly once, and nothing that nobody sent');
  return {
    record(row) {
      if (!writes.isOfSenders(row)) return;
      const place = `${row.channel}/${row.index}`;
      const known = writes.receiptOf(row);
      if (known === undefined) {
        const [order] = writes.ordersOf(rowContent(row) ?? '').filter((one) => one.found < one.records.length);
        if (order !== undefined) order.found += 1;
        return findings.judge(
          order === undefined && `${place} (${row.id}) is a record that nobody sent, or a second one`,
        );
      }
      const { receipt, isSame } = known;
      const isTwice = receipt.isThere;
      receipt.isThere = true;
      findings.judge(
        (isTwice && `line ${receipt.number}: its record is there twice, again at ${place}`) ||
          (!isSame && `line ${receipt.number}: ${place} is not what was sent and told`),
      );
    },
    close(databases) {
      for (const breach of writes.breaches) findings.add(breach);
      for (const number of writes.untold) findings.add(`line ${number}: the history does not say what was sent`);
      const missing = (place: string, number: number) =>
        findings.add(`line ${number}: ${place} was acknowledged and is not there`);
      for (const [channel, places] of databases.has('ingest-gateway') ? writes.receipts : [])
        places.forEach(({ isThere, number }, index) => isThere || missing(`${channel}/${index}`, number));
      for (const [place, { isThere, number }] of databases.has('ledger-peer') ? writes.assets : [])
        if (!isThere) missing(`the asset ${place}`, number);
      return Promise.resolve(findings.verdict());
    },
  };
}
