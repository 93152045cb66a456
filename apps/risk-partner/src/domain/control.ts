import { defined } from '@sealgate/json';
import { normalTime, timeText, type Doc, type Kind } from './resource.ts';

export const CONTROL_STATUSES = ['draft', 'planned', 'implemented', 'not_applicable', 'retired'] as const;
export const TEST_RESULTS = ['passed', 'failed', 'inconclusive'] as const;

export interface FrameworkRef {
  readonly frameworkId: string;
  readonly requirementId: string;
}

export interface Control extends Doc {
  readonly refId: string | null;
  readonly title: string;
  readonly description: string | null;
  readonly status: (typeof CONTROL_STATUSES)[number];
  readonly frameworkRefs: readonly FrameworkRef[];
  readonly lastTestedAt: string | null;
  readonly testResult: (typeof TEST_RESULTS)[number] | null;
}

export interface ControlChange {
  readonly refId?: string | null;
  readonly title?: string;
  readonly description?: string | null;
  readonly status?: Control['status'];
  readonly frameworkRefs?: readonly FrameworkRef[];
  readonly lastTestedAt?: string | null;
  readonly testResult?: Control['testResult'];
}

export type NewControl = ControlChange & Required<Pick<ControlChange, 'title'>>;

export const controlKind: Kind<Control, NewControl, ControlChange> = {
  name: 'control',
  collection: 'controls',
  prefix: 'ctl_',
  rowFiltered: false,
  links: {},
  make(body, { id, nowMs }) {
    const now = timeText(nowMs);
    const { lastTestedAt, ...plain } = body;
    return {
      id,
      refId: null,
      description: null,
      status: 'planned',
      frameworkRefs: [],
      testResult: null,
      ...defined(plain),
      title: body.title,
      lastTestedAt: normalTime(lastTestedAt) ?? null,
      createdAt: now,
      updatedAt: now,
    };
  },
  change(control, body, { nowMs }) {
    const { lastTestedAt, ...plain } = body;
    const times = defined({ lastTestedAt: normalTime(lastTestedAt) });
    return { ...control, ...defined(plain), ...times, updatedAt: timeText(nowMs) };
  },
  freeText: ['refId', 'title'],
  // `evidenceCount` depends on the caller, so it is filled in at read time.
  partnerItem: (control) => ({
    id: control.id,
    refId: control.refId,
    title: control.title,
    status: control.status,
    frameworkRefs: control.frameworkRefs.map(({ frameworkId, requirementId }) => ({ frameworkId, requirementId })),
    lastTestedAt: control.lastTestedAt,
    testResult: control.testResult,
    evidenceCount: 0,
    createdAt: control.createdAt,
    updatedAt: control.updatedAt,
  }),
  facets: ({ status, frameworkRefs }) => [
    `status:${status}`,
    ...new Set(frameworkRefs.map(({ frameworkId }) => `framework:${frameworkId}`)),
  ],
  view: (control) => control,
};
