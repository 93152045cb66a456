import { instantText, lineOfText, orNull } from '@sealgate/schemas';
import { Type } from '@sinclair/typebox';

/** What the models and the schemas of routes are built of. Request objects are closed; response objects are open. */
export const Text = Type.String();
export const Time = instantText();
export const Integer = Type.Integer();
export const Flag = Type.Boolean();
export const OrNull = orNull;
export const Optional = Type.Optional;

/** An id in a path, a filter or a body. A well-formed id that does not exist is a 404, not a 400. */
export const IdText = lineOfText({ min: 1, max: 200 });
export const Title = lineOfText({ min: 1, max: 200 });
export const Short = lineOfText({ min: 1, max: 100 });
export const LongText = Type.String({ maxLength: 10_000 });
export const Ids = Type.Array(IdText, { maxItems: 200, uniqueItems: true });
export const Sha256 = Type.String({ pattern: '^[0-9a-f]{64}$' });
export const Texts = Type.Array(Text);

/** Path parameters `/:id`. */
export const ofId = Type.Object({ id: IdText });
