import { closedObject, enumOf, instantText, lineOfText, named } from '@sealgate/http';
import { Type, type TSchema } from '@sinclair/typebox';
import { ASSET_STATUSES, CRITICALITIES } from './domain/asset.ts';
import { CONTROL_STATUSES, TEST_RESULTS } from './domain/control.ts';
import { EVIDENCE_KINDS, EVIDENCE_STATES } from './domain/evidence.ts';
import { ROLES } from './domain/permissions.ts';
import { POLICY_STATUSES } from './domain/policy.ts';
import { LEVELS, REVIEW_STATUSES, RISK_STATUSES, TREATMENTS } from './domain/risk.ts';

/** Schemas shared by routes. Request objects are closed; response objects are open. */
export const Text = Type.String();
export const Time = instantText();
export const Integer = Type.Integer();
export const Flag = Type.Boolean();
export const OrNull = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()]);
export const Optional = Type.Optional;

/** An id in a path, a filter or a body. A well-formed id that does not exist is a 404, not a 400. */
export const IdText = lineOfText({ min: 1, max: 200 });
export const Title = lineOfText({ min: 1, max: 200 });
export const Short = lineOfText({ min: 1, max: 100 });
export const LongText = Type.String({ maxLength: 10_000 });
export const Ids = Type.Array(IdText, { maxItems: 200, uniqueItems: true });
export const Sha256 = Type.String({ pattern: '^[0-9a-f]{64}$' });
export const Texts = Type.Array(Text);

export const Period = named('Period', closedObject({ from: instantText(), to: instantText() }));

export const AssetStatus = enumOf('AssetStatus', ASSET_STATUSES);
export const Criticality = enumOf('Criticality', CRITICALITIES);
export const ControlStatus = enumOf('ControlStatus', CONTROL_STATUSES);
export const TestResult = enumOf('ControlTestResult', TEST_RESULTS);
export const EvidenceKind = enumOf('EvidenceKind', EVIDENCE_KINDS);
export const EvidenceState = enumOf('EvidenceState', EVIDENCE_STATES);
export const PolicyStatus = enumOf('PolicyStatus', POLICY_STATUSES);
export const Level = enumOf('Level', LEVELS);
export const ReviewStatus = enumOf('ReviewStatus', REVIEW_STATUSES);
export const RiskStatus = enumOf('RiskStatus', RISK_STATUSES);
export const Treatment = enumOf('Treatment', TREATMENTS);
export const Role = enumOf('Role', ROLES);

/** A requirement of a framework, as responses show it. */
export const RequirementRef = named('RequirementRef', Type.Object({ frameworkId: Text, requirementId: Text }));

/** Path parameters `/:id`. */
export const ofId = Type.Object({ id: IdText });
