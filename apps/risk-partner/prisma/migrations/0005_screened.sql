-- Up Migration

-- The version of the personal-data rules that found nothing in `item` when it was written, so that lists need not scan
-- it again; null if not scanned. `screened_in` is the revision that wrote both.
ALTER TABLE resources ADD COLUMN screened_by smallint, ADD COLUMN screened_in bigint;

-- A writer that does not know these columns leaves the item unscanned.
CREATE FUNCTION forget_screening_v1() RETURNS trigger LANGUAGE plpgsql SET search_path = risk, pg_temp AS $$
BEGIN
  NEW.screened_by := NULL;
  NEW.screened_in := NULL;
  RETURN NEW;
END $$;
CREATE TRIGGER resources_forget_screening BEFORE UPDATE ON resources FOR EACH ROW
  WHEN (NEW.item IS DISTINCT FROM OLD.item AND NEW.screened_in IS NOT DISTINCT FROM OLD.screened_in)
  EXECUTE FUNCTION forget_screening_v1();

-- Down Migration

DROP TRIGGER resources_forget_screening ON resources;
DROP FUNCTION forget_screening_v1;
ALTER TABLE resources DROP COLUMN screened_by, DROP COLUMN screened_in;
