-- Up Migration

-- Progress of the review of a declared loss: see data/loss-progress.ts. A process leases a part; if it stops, another
-- one continues after the last reviewed page. Like reviewed_losses, it decides nothing. Rows are deleted once the loss
-- is in reviewed_losses.
CREATE TABLE loss_reviews (
  epoch        integer NOT NULL,
  part         text COLLATE "C" NOT NULL,
  place        text[] NOT NULL,                 -- last row of the reviewed page
  changed_rows integer NOT NULL DEFAULT 0,      -- rows changed by the review
  is_done      boolean NOT NULL DEFAULT false,
  worker       text NOT NULL,
  leased_until timestamptz(3) NOT NULL,
  PRIMARY KEY (epoch, part)
);

-- Down Migration

DROP TABLE loss_reviews;
