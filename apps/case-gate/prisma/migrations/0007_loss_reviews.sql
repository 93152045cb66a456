-- Up Migration

-- How far the review of a declared loss has come: see data/loss-progress.ts. One process at a time works on a part of it; where
-- it ends, another goes on behind the last page that was looked through. Like reviewed_losses, nothing is decided by it. Rows
-- go once the loss is in reviewed_losses.
CREATE TABLE loss_reviews (
  epoch        integer NOT NULL,
  part         text COLLATE "C" NOT NULL,
  place        text[] NOT NULL,                 -- the last row of that page
  changed_rows integer NOT NULL DEFAULT 0,      -- about which something was done
  is_done      boolean NOT NULL DEFAULT false,
  worker       text NOT NULL,
  leased_until timestamptz(3) NOT NULL,
  PRIMARY KEY (epoch, part)
);

-- Down Migration

DROP TABLE loss_reviews;
