-- Up Migration

-- Times that never come are refused: a holder alive for ever would keep its transactions from being taken over, and a
-- row settled or made at no time would never be removed. NOT VALID: rows that are there already are left alone.
ALTER TABLE fabric_holders
  ADD CONSTRAINT fabric_holders_times CHECK (alive_until >= 'epoch' AND alive_until < '10000-01-01 00:00:00+00') NOT VALID;
ALTER TABLE fabric_transactions
  ADD CONSTRAINT fabric_transactions_times CHECK (least(begun_at, settled_at) >= 'epoch'
    AND greatest(begun_at, settled_at) < '10000-01-01 00:00:00+00') NOT VALID;
ALTER TABLE fabric_claims
  ADD CONSTRAINT fabric_claims_times CHECK (made_at >= 'epoch' AND made_at < '10000-01-01 00:00:00+00') NOT VALID;
