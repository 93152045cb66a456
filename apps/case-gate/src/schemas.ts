import { enumOf, instantText, lineOfText, orNull } from '@sealgate/schemas';
import { Type } from '@sinclair/typebox';

/** What models are made of. */
export { answered, answerOf, changeOf, closedObject, enumOf, lineOfText, named } from '@sealgate/schemas';

/** Maximum body of the public listener. */
export const BODY_MAX_BYTES = 262_144;

export const OrNull = orNull;
export const Text = Type.String();
export const Texts = Type.Array(Type.String());
export const Time = instantText();

/** Patterns of ids that callers choose. The gate's look-up checks them too. */
export const SUBJECT_REF = '^subj_[A-Za-z0-9_-]{1,64}$';
export const VENUE_ID = '^[A-Za-z0-9_-]{1,64}$';

export const SubjectRef = Type.String({ pattern: SUBJECT_REF });
export const VenueId = Type.String({ pattern: VENUE_ID });
export const PolicyVersion = Type.String({ pattern: '^[A-Za-z0-9._-]{1,64}$' });
export const Environment = Type.String({ pattern: '^[a-z][a-z0-9-]{0,30}$' });
export const ReasonCode = Type.String({ pattern: '^[A-Z][A-Z0-9_]{0,63}$' });
export const Sha256 = Type.String({ pattern: '^[0-9a-f]{64}$' });
/** Ids in a path: a malformed one is a 404. */
export const CaseId = Type.String({ pattern: '^case_[A-Za-z0-9_-]{1,64}$' });
export const IdText = lineOfText({ min: 1, max: 1024 });
export const Name = lineOfText({ min: 1, max: 200 });
export const Outcome = enumOf('Outcome', ['approve', 'decline', 'refer']);
export const Verdict = enumOf('Verdict', ['allow', 'deny']);
export const Flag = enumOf('Flag', ['true', 'false']);

/**
 * One list instead of a union of two, for which client generators would make two types. The keywords that require `*`
 * to be the only item are ignored by generators.
 */
export const VenueIds = Type.Array(
  Type.String({ pattern: '^(?:\\*|[A-Za-z0-9_-]{1,64})$', description: 'The id of a venue, or `*`.' }),
  {
    maxItems: 200,
    uniqueItems: true,
    if: { contains: { const: '*' } },
    then: { maxItems: 1 },
    description: 'Ids of venues, or `*` alone for every active venue.',
  },
);

/** The environment where a query or body names none. */
export const DEFAULT_ENVIRONMENT = 'live';
export const OptionalEnvironment = Type.Optional({
  ...Environment,
  description: `The environment; default ${DEFAULT_ENVIRONMENT}.`,
});
