import { enumOf, named, routeFor, type Route } from '@sealgate/http';
import { Type } from '@sinclair/typebox';
import { rowScopeOf, type RiskCaller } from '../domain/caller.ts';
import { ACTS_NEXT, EVIDENCE_STATES, EvidenceState } from '../domain/evidence.ts';
import { Framework } from '../domain/manage-frameworks.ts';
import { noSuchRow } from '../domain/manage-resources.ts';
import { rate } from '../domain/risk.ts';
import type { HeatMapCell, RatingChange, Summaries } from '../domain/summaries.ts';
import { Integer, ofId, OrNull } from '../schemas.ts';

const route = routeFor<RiskCaller>();

const Degree = Type.Integer({ minimum: 1, maximum: 5 });
const Cells = Type.Array(
  named('HeatMapCell', Type.Object({ likelihood: Degree, impact: Degree, count: Type.Integer({ minimum: 1 }) })),
);
const HeatMap = named('HeatMap', Type.Object({ total: Integer, inherent: Cells, current: Cells, residual: Cells }));
const LevelCounts = Type.Object({ low: Integer, medium: Integer, high: Integer, critical: Integer });
const Trends = named(
  'RiskTrends',
  Type.Object({
    months: Type.Array(
      named(
        'RiskMonth',
        Type.Object({ month: Type.String({ description: 'UTC: `2026-01`.' }), ...LevelCounts.properties }),
      ),
      { description: 'Open risks by current level at the end of each month, oldest first; the last is now.' },
    ),
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
/** Who has to act; a reviewer is not the collector; null: nobody. */
const ActsNext = OrNull(enumOf('EvidenceActor', ['owner', 'collector', 'reviewer']));
const Board = named(
  'EvidenceBoard',
  Type.Object({
    states: Type.Array(
      named('EvidenceStateCount', Type.Object({ state: EvidenceState, count: Integer, actsNext: ActsNext })),
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
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

const base = { method: 'get', looks: true, charge: 1, idempotency: 'none', tags: ['dashboard'], errors: [] } as const;

/** Aggregates and requirement titles for the dashboard. */
export function summaryRoutes({ summaries, now }: SummaryPorts): Route<RiskCaller>[] {
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
  const board = route({
    ...base,
    path: '/api/evidence-board',
    permit: 'evidence:read',
    operationId: 'dashboard_evidence_board',
    summary: 'Count evidence by state, with who has to act',
    responses: { 200: { description: 'All states.', schema: Board } },
    async handler({ caller }) {
      const counts = await summaries.evidenceStates(rowScopeOf(caller), now());
      const states = EVIDENCE_STATES.map((state) => ({
        state,
        count: counts.get(state) ?? 0,
        actsNext: ACTS_NEXT[state],
      }));
      return { status: 200, body: { states } };
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
  const trends = route({
    ...base,
    path: '/api/trends',
    permit: 'risk:read',
    operationId: 'dashboard_trends',
    summary: 'Count open risks by level at the end of each month',
    description: 'Of the rows that the caller may see, by what row filters looked at when a month changed.',
    query: trendsQuery,
    responses: { 200: { description: 'The months.', schema: Trends } },
    async handler({ caller, query }) {
      const at = new Date(now());
      const begins = Array.from(
        { length: Number(query.months ?? DEFAULT_MONTHS) },
        (_, back) => new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() - back, 1)),
      ).reverse();
      const changes = await summaries.ratings(rowScopeOf(caller), begins[0]!);
      return { status: 200, body: { months: begins.map((month) => monthOf(month, changes)) } };
    },
  });
  return [heatMap, board, framework, trends];
}

/** The counts at the end of a month: those of today, less what came later. */
function monthOf(month: Date, changes: readonly RatingChange[]) {
  const counts = { low: 0, medium: 0, high: 0, critical: 0 };
  for (const { month: changed, likelihood, impact, count } of changes) {
    const { level } = rate({ likelihood, impact });
    if (changed === null) counts[level] += count;
    else if (changed > month) counts[level] -= count;
  }
  return { month: month.toISOString().slice(0, 7), ...counts };
}
