import { closedObject, enumOf, named } from '@sealgate/schemas';
import { Type, type Static } from '@sinclair/typebox';
import * as s from '../schemas.ts';
import { changeOf, itemMembers, labelled, newOf, picked, setBy, shown, unsetOf } from './model.ts';
import { docMembers, refId, timeText, type Kind } from './resource.ts';

export const ControlStatus = enumOf('ControlStatus', ['draft', 'planned', 'implemented', 'not_applicable', 'retired']);
const TestResult = enumOf('ControlTestResult', ['passed', 'failed', 'inconclusive']);

/** A requirement of a framework, as requests name it. */
const FrameworkRef = named('FrameworkRef', closedObject({ frameworkId: s.IdText, requirementId: s.IdText }));
export type FrameworkRef = Static<typeof FrameworkRef>;
const RequirementRef = named('RequirementRef', Type.Object(shown(FrameworkRef.properties)));

const Control = Type.Object({
  id: s.Text,
  title: labelled('Title', s.Title),
  refId,
  description: labelled('Description', s.OrNull(s.LongText)),
  status: labelled('Status', ControlStatus),
  frameworkRefs: labelled('Requirements', Type.Array(RequirementRef)),
  lastTestedAt: labelled('Last tested', s.OrNull(s.Time)),
  testResult: labelled('Test result', s.OrNull(TestResult)),
  ...docMembers,
});
export type Control = Static<typeof Control>;

const frameworkRefs = labelled('Requirements', Type.Array(FrameworkRef, { maxItems: 200, uniqueItems: true }));
export const NewControl = named('NewControl', newOf({ ...Control.properties, frameworkRefs }, ['title']));
type NewControl = Static<typeof NewControl>;
export const ControlChange = named('ControlChange', changeOf(NewControl));
type ControlChange = Static<typeof ControlChange>;
export const ControlView = named('ControlView', Type.Object(shown(Control.properties)));

const texts = ['refId', 'title'] as const;

/** What partners see. */
export const ControlItem = named(
  'Control',
  Type.Object({
    ...itemMembers(Control, {
      texts,
      others: ['id', 'status', 'frameworkRefs', 'lastTestedAt', 'testResult', 'createdAt', 'updatedAt'],
    }),
    evidenceCount: Type.Integer({ description: 'Counts the evidence that the caller may see.' }),
  }),
);

const unset = unsetOf(Control);

export const controlKind: Kind<Control, NewControl, ControlChange> = {
  name: 'control',
  collection: 'controls',
  prefix: 'ctl_',
  rowFiltered: false,
  unset,
  links: {},
  make(body, { id, nowMs }) {
    const now = timeText(nowMs);
    const { title } = body;
    return {
      ...unset,
      id,
      status: 'planned',
      ...setBy(NewControl, body),
      title,
      createdAt: now,
      updatedAt: now,
    };
  },
  change: (control, body, { nowMs }) => ({ ...control, ...setBy(NewControl, body), updatedAt: timeText(nowMs) }),
  freeText: texts,
  // `evidenceCount` depends on the caller, so it is filled in at read time.
  partnerItem: (control) => ({ ...picked(ControlItem, control), evidenceCount: 0 }),
  facets: ({ status, frameworkRefs }) => [
    `status:${status}`,
    ...new Set(frameworkRefs.map(({ frameworkId }) => `framework:${frameworkId}`)),
  ],
  sorts: ['createdAt', 'updatedAt', 'refId', 'title'],
  view: (control) => control,
};
