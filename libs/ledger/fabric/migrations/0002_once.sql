-- Up Migration

-- A reference names one piece of work, and at most one transaction of it may have an effect: a second one is refused by
-- this index, whichever process writes it, until the first is known to have none.
-- References that were used twice are told apart first.
UPDATE fabric_transactions t SET reference = t.reference || '#' || d.n
  FROM (SELECT transaction_id, row_number() OVER (PARTITION BY reference ORDER BY begun_at, transaction_id) AS n
          FROM fabric_transactions
         WHERE reference IS NOT NULL AND status IN ('unsettled', 'committed')) d
 WHERE d.transaction_id = t.transaction_id AND d.n > 1;

CREATE UNIQUE INDEX fabric_transactions_once ON fabric_transactions (reference)
  WHERE reference IS NOT NULL AND status IN ('unsettled', 'committed');
DROP INDEX fabric_transactions_reference;

-- Another status: withdrawn. The row takes the place of a transaction that was never journalled, so it is never sent.

-- The highest block of each Fabric channel that holds a write somebody was told of. A peer behind it cannot say that
-- something is absent.
CREATE TABLE fabric_heights (
  channel      text   PRIMARY KEY COLLATE "C",
  block_number bigint NOT NULL
);

INSERT INTO fabric_heights (channel, block_number)
SELECT channel, max(block_number) FROM fabric_transactions WHERE status = 'committed' GROUP BY channel;
