-- Up Migration

-- What a signature covers is a template.
UPDATE sources
   SET settings = jsonb_set(settings #- '{signature,signedBefore}', '{signature,signed}',
                            to_jsonb((settings #>> '{signature,signedBefore}') || '{body}'))
 WHERE settings #>> '{signature,signedBefore}' IS NOT NULL;

-- Down Migration

UPDATE sources
   SET settings = jsonb_set(settings #- '{signature,signed}', '{signature,signedBefore}',
                            to_jsonb(replace(settings #>> '{signature,signed}', '{body}', '')))
 WHERE settings #>> '{signature,signed}' IS NOT NULL;
