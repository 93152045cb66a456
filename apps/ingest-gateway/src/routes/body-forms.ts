import { lineOfText, named } from '@sealgate/http';
import { Type, type TSchema } from '@sinclair/typebox';
import { RECORD_LIMITS } from '../domain/parse-record.ts';

/**
 * The four forms of a body, for the description alone: what a body is and what is wrong with it is said by
 * `parse-record.ts`, with every fault in the words of the contract.
 */
export function bodyForms(maxBatchRecords: number): readonly TSchema[] {
  const { idMaxCodePoints, typeMaxCodePoints, ownerMaxCodePoints, maxChannels } = RECORD_LIMITS;
  const Ping = named(
    'Ping',
    Type.Object(
      { type: Type.Literal('ping') },
      { description: 'Asks whether the key works; writes nothing to the ledger. Other members are ignored.' },
    ),
  );
  const IngestRecord = named(
    'IngestRecord',
    Type.Object(
      {
        id: Type.Optional({
          ...lineOfText({ min: 1, max: idMaxCodePoints }),
          description: 'Not `.` or `..`. Made where absent.',
        }),
        type: Type.Optional({ ...lineOfText({ min: 1, max: typeMaxCodePoints }), default: 'unknown' }),
        owner: Type.Optional(lineOfText({ min: 1, max: ownerMaxCodePoints })),
        data: Type.Optional(
          Type.Object({}, { additionalProperties: true, description: 'Where absent, the other members are the data.' }),
        ),
        targetChannels: Type.Optional(
          Type.Array(Type.String(), {
            minItems: 1,
            maxItems: maxChannels,
            uniqueItems: true,
            description: 'Names of channels of the network; its first channel where absent.',
          }),
        ),
      },
      {
        additionalProperties: true,
        description:
          'One record. For a key that was minted with `record: "whole"`, any object that is neither a ping nor a batch: it ' +
          'is kept as it is, whatever its members are.',
      },
    ),
  );
  // A form for each type: a schema with a list of types has no type in Go.
  const BareJson = named(
    'BareJson',
    Type.Union(
      [Type.Array(Type.Any({ description: 'Any JSON.' })), Type.String(), Type.Number(), Type.Boolean(), Type.Null()],
      { description: 'Anything that is no object is written as `{"value": ...}`.' },
    ),
  );
  const IngestBatch = named(
    'IngestBatch',
    Type.Object(
      {
        assets: Type.Array(Type.Union([IngestRecord, BareJson]), {
          minItems: 1,
          maxItems: maxBatchRecords,
          description: 'No id stands twice.',
        }),
      },
      { additionalProperties: false, description: 'Records that are written together.' },
    ),
  );
  return [Ping, IngestRecord, IngestBatch, BareJson];
}
