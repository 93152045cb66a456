export { DeclaredLoss, LostEntries } from './declared-loss.ts';
export { FabricProof, FabricReceipt, ProvedOnFabric } from './fabric-proof.ts';
export {
  answered,
  answerOf,
  changeOf,
  closedObject,
  double,
  enumOf,
  instantText,
  isNullable,
  lineOfText,
  membersJson,
  named,
  namedAfter,
  nameOf,
  openObject,
  orNull,
  schemaJson,
  type JsonObject,
  type MembersOf,
  type NamedSchema,
} from './schemas.ts';
