import { enumOf, instantText, named, orNull } from '@sealgate/http';
import { DeclaredLoss, ProvedOnFabric } from '@sealgate/schemas';
import { Type } from '@sinclair/typebox';

// Response schemas of the ledger routes of the admin listener.

const Text = Type.String();
const Time = instantText();

export const RecordRow = named(
  'LedgerRecord',
  Type.Object({
    id: Text,
    network: Text,
    channel: Text,
    type: Text,
    owner: orNull(Text),
    data: Type.Unknown(),
    extra: Type.Unknown(),
    index: Type.Optional(Type.Integer()),
    epoch: Type.Optional(Type.Integer()),
    transactionId: Text,
    at: Time,
    erased: Type.Optional(Type.Literal(true)),
  }),
);

const Receipt = named(
  'Receipt',
  Type.Object({
    network: Text,
    channel: Text,
    id: Text,
    type: Text,
    owner: orNull(Text),
    dataHash: Text,
    salt: orNull(Text),
    extra: Type.Unknown(),
    transactionId: Text,
    at: Time,
    index: Type.Integer(),
    epoch: Type.Optional(Type.Integer()),
  }),
);

const ProvedDeclaration = named(
  'ProvedDeclaration',
  Type.Object({ statement: DeclaredLoss, inclusionPath: Type.Array(Text) }),
);

const InclusionProof = named(
  'InclusionProof',
  Type.Object({
    channel: Text,
    index: Type.Integer(),
    leafHash: Text,
    treeSize: Type.Integer(),
    inclusionPath: Type.Array(Text),
    checkpoint: Text,
    epoch: Type.Optional(Type.Integer()),
    origin: Type.Optional(Text),
    declaration: Type.Optional(ProvedDeclaration),
  }),
);

const ProvedInLog = named('ProvedInLog', Type.Object({ receipt: Receipt, proof: InclusionProof }));

export const ProvedRecord = named('ProvedRecord', Type.Union([ProvedInLog, ProvedOnFabric]));

export const Audit = named(
  'AuditReport',
  Type.Object({
    ok: Type.Boolean(),
    size: Type.Integer(),
    firstBadRecordId: orNull(Text),
    problem: orNull(Text),
  }),
);

export const AuditRunRow = named(
  'AuditRun',
  Type.Object({
    auditId: Text,
    channel: Text,
    status: enumOf('AuditRunStatus', ['running', 'done', 'failed']),
    walked: Type.Integer({ description: 'Records checked so far.' }),
    size: Type.Integer({ description: 'Records of the channel when the audit started.' }),
    startedAt: Time,
    endedAt: orNull(Time),
    report: orNull(Audit, { description: 'Result; null unless the status is done.' }),
    failure: orNull(Text, { description: 'Why it failed, such as a missing right; null unless the status is failed.' }),
  }),
);
