import { enumOf, named, routeFor, type Route } from '@sealgate/http';
import { Type, type Static } from '@sinclair/typebox';
import { rowScopeOf, type RiskCaller } from '../domain/caller.ts';
import {
  ACTS_NEXT,
  EVIDENCE_STATES,
  evidenceKind,
  EvidenceState,
  EvidenceView,
  type Evidence,
} from '../domain/evidence.ts';
import { Framework } from '../domain/manage-frameworks.ts';
import { noSuchRow } from '../domain/manage-resources.ts';
import type { ResourceReads, Row } from '../domain/resource-ports.ts';
import { rate, Rating } from '../domain/risk.ts';
import type { FrameworkMonth, HeatMapCell, RatingChange, Summaries } from '../domain/summaries.ts';
import { viewsOf } from '../domain/view-resource.ts';
import { Integer, ofId, OrNull, Time } from '../schemas.ts';

const route = routeFor<RiskCaller>();

const Degree = Type.Integer({ minimum: 1, maximum: 5 });
const Cells = Type.Array(
  named('HeatMapCell', Type.Object({ likelihood: Degree, impact: Degree, count: Type.Integer({ minimum: 1 }) })),
);
const HeatMap = named('HeatMap', Type.Object({ total: Integer, inherent: Cells, current: Cells, residual: Cells }));
const LevelCounts = Type.Object({ low: Integer, medium: Integer, high: Integer, critical: Integer });
const StateCounts = Type.Object({ covered: Integer, partial: Integer, gap: Integer, notApplicable: Integer });
const Month = Type.String({ description: 'UTC: `2026-01`.' });
const FrameworkTrend = named(
  'FrameworkTrend',
  Type.Object({
    ...Type.Pick(Framework, ['id', 'name', 'version']).properties,
    months: Type.Array(named('CoverageMonth', Type.Object({ month: Month, ...StateCounts.properties })), {
      description: 'Requirements by state at the end of each month, oldest first; the last is now.',
    }),
  }),
);
const ScoreChange = named('ScoreChange', Type.Object({ at: Time, version: Integer, from: Rating, to: Rating }));
const Trends = named(
  'Trends',
  Type.Object({
    months: Type.Array(named('RiskMonth', Type.Object({ month: Month, ...LevelCounts.properties })), {
      description: 'Open risks by current level at the end of each month, oldest first; the last is now.',
    }),
    frameworks: Type.Array(FrameworkTrend, { description: 'Oldest first.' }),
  }),
);
const trendsQuery = Type.Object(
  {
    months: Type.Optional(
      Type.Unsafe<string>({
        type: 'string',
        pattern: '^([1-9]|1[0-9]|2[0-4])$',
        description: 'Months back, 1 to 24; by default 12.',
        examples: ['12'],
      }),
    ),
  },
  { additionalProperties: false },
);
const DEFAULT_MONTHS = 12;
const boardQuery = Type.Object(
  {
    cards: Type.Optional(
      Type.Unsafe<string>({
        type: 'string',
        pattern: '^([1-9]|10)$',
        description: 'How many rows of each state in which somebody has to act, 1 to 10; by default none.',
        examples: ['6'],
      }),
    ),
  },
  { additionalProperties: false },
);
/** Who has to act; a reviewer is not the collector; null: nobody. */
const ActsNext = OrNull(enumOf('EvidenceActor', ['owner', 'collector', 'reviewer']));
const Board = named(
  'EvidenceBoard',
  Type.Object({
    states: Type.Array(
      named(
        'EvidenceStateCount',
        Type.Object({
          state: EvidenceState,
          count: Integer,
          actsNext: ActsNext,
          first: Type.Optional(
            Type.Array(EvidenceView, {
              description:
                'With `cards`, where somebody has to act: the first rows, by `validUntil` those that expire or have expired, else by `createdAt`.',
            }),
          ),
        }),
      ),
    ),
  }),
);
const Requirement = named('TitledRequirement', Framework.properties.requirements.items);
const FrameworkWithRequirements = named(
  'FrameworkWithRequirements',
  Type.Object({ ...Framework.properties, requirements: Type.Array(Requirement) }),
);

export interface SummaryPorts {
  readonly summaries: Summaries;
  /** For those who look. */
  readonly lists: Pick<ResourceReads, 'list' | 'visible'>;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

const base = { method: 'get', looks: true, charge: 1, idempotency: 'none', tags: ['dashboard'], errors: [] } as const;

/** Aggregates and requirement titles for the dashboard. */
export function summaryRoutes(ports: SummaryPorts): Route<RiskCaller>[] {
  const { summaries } = ports;
  const heatMap = route({
    ...base,
    path: '/api/heat-map',
    permit: 'risk:read',
    operationId: 'dashboard_heat_map',
    summary: 'Count risks by likelihood and impact, without closed and archived ones',
    responses: { 200: { description: 'The non-empty cells, by rating.', schema: HeatMap } },
    async handler({ caller }) {
      const cells = await summaries.heatMap(rowScopeOf(caller));
      const of = (wanted: HeatMapCell['rated']) =>
        cells
          .filter(({ rated }) => rated === wanted)
          .map(({ likelihood, impact, count }) => ({ likelihood, impact, count }));
      const inherent = of('inherent');
      // Every risk has an inherent rating.
      const total = inherent.reduce((sum, { count }) => sum + count, 0);
      return { status: 200, body: { total, inherent, current: of('current'), residual: of('residual') } };
    },
  });
  const framework = route({
    ...base,
    path: '/api/frameworks/:id',
    permit: 'framework:read',
    params: ofId,
    operationId: 'dashboard_get_framework',
    summary: 'Read a framework with the titles of its requirements',
    responses: { 200: { description: 'The framework.', schema: FrameworkWithRequirements } },
    async handler({ caller, params }) {
      const found = await summaries.framework(caller.orgId, params.id);
      if (found === undefined) throw noSuchRow();
      return { status: 200, body: found };
    },
  });
  return [heatMap, evidenceBoard(ports), framework, trends(ports), scoreChanges(ports)];
}

/** Of these states the ones that end first are first, of others the ones that wait longest. */
const ENDING: readonly EvidenceState[] = ['expiring', 'expired'];

const evidenceBoard = ({ summaries, lists, now }: SummaryPorts): Route<RiskCaller> =>
  route({
    ...base,
    path: '/api/evidence-board',
    permit: 'evidence:read',
    operationId: 'dashboard_evidence_board',
    summary: 'Count evidence by state, with who has to act, and on demand with the first of each state',
    query: boardQuery,
    responses: { 200: { description: 'All states.', schema: Board } },
    async handler({ caller, query: { cards } }) {
      const scope = rowScopeOf(caller);
      const nowMs = now();
      const counts = await summaries.evidenceStates(scope, nowMs);
      const states: Static<typeof Board>['states'] = [];
      for (const state of EVIDENCE_STATES) {
        const one = { state, count: counts.get(state) ?? 0, actsNext: ACTS_NEXT[state] };
        const isShown = cards !== undefined && one.actsNext !== null && one.count > 0;
        states.push(isShown ? { ...one, first: await firstOf(state) } : one);
      }
      return { status: 200, body: { states } };

      async function firstOf(state: EvidenceState) {
        const field = ENDING.includes(state) ? 'validUntil' : 'createdAt';
        const asked = { filters: { state }, q: undefined, sorting: { field, descending: false }, nowMs } as const;
        const { found } = await lists.list('evidence', scope, { ...asked, limit: Number(cards), after: undefined });
        const rows = found.flatMap(({ row }) => (row === undefined ? [] : [row as Row<Evidence>])); // Rows of this kind.
        // By their schema.
        return (await viewsOf(lists, evidenceKind, { caller, rows, nowMs })) as Static<typeof EvidenceView>[];
      }
    },
  });

const trends = ({ summaries, now }: SummaryPorts): Route<RiskCaller> =>
  route({
    ...base,
    path: '/api/trends',
    permit: 'risk:read',
    operationId: 'dashboard_trends',
    summary: 'Count open risks by level, and requirements of each framework by coverage, at the end of each month',
    description:
      'Of the rows that the caller may see, by what row filters looked at when a month changed, and of controls as they were then.',
    query: trendsQuery,
    responses: { 200: { description: 'The months.', schema: Trends } },
    async handler({ caller, query }) {
      const scope = rowScopeOf(caller);
      const wanted = monthsOf(query.months, now());
      const changes = await summaries.ratings(scope, wanted.begins[0]!);
      const counts = await summaries.coverageTrend(scope, wanted);
      const frameworks = [...Map.groupBy(counts, ({ id }) => id).values()].map((months) => {
        const { id, name, version } = months[0]!; // A group has a first.
        return { id, name, version, months: months.map(shownMonth) };
      });
      return { status: 200, body: { months: wanted.begins.map((month) => monthOf(month, changes)), frameworks } };
    },
  });

const scoreChanges = ({ summaries }: Pick<SummaryPorts, 'summaries'>): Route<RiskCaller> =>
  route({
    ...base,
    path: '/api/risks/:id/score-changes',
    permit: 'risk:read',
    params: ofId,
    operationId: 'dashboard_score_changes',
    summary: 'List the changes of the current rating of a risk',
    responses: { 200: { description: 'Newest first, the newest 200.', schema: Type.Array(ScoreChange) } },
    async handler({ caller, params }) {
      const changes = await summaries.scoreChanges(rowScopeOf(caller), params.id);
      if (changes === undefined) throw noSuchRow();
      return { status: 200, body: changes.map(({ from, to, ...one }) => ({ ...one, from: rate(from), to: rate(to) })) };
    },
  });

const nameOf = (month: Date): string => month.toISOString().slice(0, 7);

const shownMonth = ({ month, covered, partial, gap, notApplicable }: FrameworkMonth) => ({
  month: nameOf(month),
  covered,
  partial,
  gap,
  notApplicable,
});

/** The beginnings of the last months in UTC, oldest first, and of the next one. */
function monthsOf(count: string | undefined, nowMs: number) {
  const now = new Date(nowMs);
  const begin = (offset: number) => new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + offset, 1));
  const length = Number(count ?? DEFAULT_MONTHS);
  return { begins: Array.from({ length }, (_, at) => begin(at - length + 1)), now, next: begin(1) };
}

/** The counts at the end of a month: those of today, less what came later. */
function monthOf(month: Date, changes: readonly RatingChange[]) {
  const counts = { low: 0, medium: 0, high: 0, critical: 0 };
  for (const { month: changed, likelihood, impact, count } of changes) {
    const { level } = rate({ likelihood, impact });
    if (changed === null) counts[level] += count;
    else if (changed > month) counts[level] -= count;
  }
  return { month: nameOf(month), ...counts };
}
