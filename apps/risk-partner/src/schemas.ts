import { closedObject, instantText, lineOfText } from '@sealgate/http';
import { Type, type TSchema } from '@sinclair/typebox';

/** What several routes are described with. Requests are closed objects; answers only say what is there. */
export const Text = Type.String();
export const Time = instantText();
export const Integer = Type.Integer();
export const Flag = Type.Boolean();
export const OrNull = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()]);
export const Optional = Type.Optional;
export const oneOf = <const Word extends string>(words: readonly Word[]) =>
  Type.Union(words.map((word) => Type.Literal(word)));

/** An id in a path, a filter or a body: one that no id can be names nothing. */
export const IdText = lineOfText({ min: 1, max: 200 });
export const Title = lineOfText({ min: 1, max: 200 });
export const Short = lineOfText({ min: 1, max: 100 });
export const LongText = Type.String({ maxLength: 10_000 });
export const Ids = Type.Array(IdText, { maxItems: 200, uniqueItems: true });
export const Sha256 = Type.String({ pattern: '^[0-9a-f]{64}$' });
export const Texts = Type.Array(Text);

export const Period = closedObject({ from: instantText(), to: instantText() });

/** A path with the id of one thing. */
export const ofId = Type.Object({ id: IdText });
