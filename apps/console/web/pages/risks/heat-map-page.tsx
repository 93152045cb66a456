import type { ReactNode } from 'react';
import { Anchor, Button, Group, List, Paper, SegmentedControl, SimpleGrid, Text, UnstyledButton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'react-router';
import { api } from '../../shell/api.ts';
import { ListEmpty, ListError, ListLoading, Unread } from '../../shell/list-states.tsx';
import { Page, Section } from '../../shell/page.tsx';
import { useUrlFilters } from '../../shell/use-url-filters.ts';
import { useCountedIntro, useOrganization } from './organization.tsx';
import { Score, Status } from './record-values.tsx';
import { recordPages, sift, type RiskSchemas } from './risk-api.ts';
import * as texts from './texts.ts';
import classes from './risks.module.css';
import { inWords, levelOf } from './words.ts';

type Cell = RiskSchemas['HeatMapCell'];
type Rated = 'inherent' | 'current' | 'residual';

const RATED: readonly { readonly value: Rated; readonly label: string; readonly means: string }[] = [
  { value: 'inherent', label: texts.inherent, means: texts.asIfNothingWereDone },
  { value: 'current', label: texts.current, means: texts.withWhatIsDoneNow },
  { value: 'residual', label: texts.residual, means: texts.onceThePlanIsDone },
];
const DEGREES = [1, 2, 3, 4, 5];
const CELL_FORM = /^([1-5])x([1-5])$/;

/** Maximum number of risks to search for those of a cell. */
const MAX_SEARCHED = 2000;

/** Counts risks by likelihood and impact; a cell lists its risks. */
export function HeatMapPage(): ReactNode {
  const { inOrg } = useOrganization();
  const [chosen, choose] = useUrlFilters(['of', 'cell']);
  const of = RATED.find(({ value }) => value === chosen.of) ?? RATED[1]!;
  const found = api.useQuery('get', '/api/risk-partner/api/heat-map', { ...inOrg });
  const [, likelihood, impact] = CELL_FORM.exec(chosen.cell ?? '') ?? [];
  const intro = useCountedIntro(texts.heatMapIntro);
  return (
    <Page title={texts.heatMap} intro={intro}>
      <Group gap="sm">
        <SegmentedControl
          aria-label={texts.whichRating}
          value={of.value}
          data={RATED.map(({ value, label }) => ({ value, label }))}
          onChange={(value) => choose({ of: value, cell: null })}
        />
        <Text size="sm" c="dimmed">{`${of.label}: ${of.means}.`}</Text>
      </Group>
      <Unread read={found} />
      {found.data !== undefined && (
        <SimpleGrid cols={{ base: 1, lg: 2 }} spacing="lg">
          <Paper>
            <Grid
              cells={found.data[of.value]}
              of={of.label}
              chosen={chosen.cell}
              onChoose={(cell) => choose({ cell: cell === chosen.cell ? null : cell })}
            />
            <InText cells={found.data[of.value]} total={found.data.total} />
          </Paper>
          {likelihood !== undefined && impact !== undefined && (
            <CellRisks of={of.value} likelihood={Number(likelihood)} impact={Number(impact)} />
          )}
        </SimpleGrid>
      )}
    </Page>
  );
}

function Grid({
  cells,
  of,
  chosen,
  onChoose,
}: {
  readonly cells: readonly Cell[];
  readonly of: string;
  readonly chosen: string | undefined;
  readonly onChoose: (cell: string) => void;
}): ReactNode {
  const countOf = (likelihood: number, impact: number) =>
    cells.find((cell) => cell.likelihood === likelihood && cell.impact === impact)?.count ?? 0;
  return (
    <table className={classes['map']}>
      <caption className="visually-hidden">{texts.heatMapCaption(of)}</caption>
      <colgroup>
        <col />
        <col />
      </colgroup>
      <tbody>
        {DEGREES.toReversed().map((likelihood) => (
          <tr key={likelihood}>
            {likelihood === DEGREES.length && (
              <td rowSpan={DEGREES.length} aria-hidden className={classes['upwards']}>
                <span>{texts.likelihoodAxis}</span>
              </td>
            )}
            <th scope="row">
              <span className="visually-hidden">{texts.likelihood}</span> {likelihood}
            </th>
            {DEGREES.map((impact) => {
              const count = countOf(likelihood, impact);
              const level = levelOf(likelihood * impact);
              const cell = `${likelihood}x${impact}`;
              return (
                <td key={impact}>
                  <UnstyledButton
                    className={classes['cell']}
                    data-level={level}
                    data-count={count}
                    aria-pressed={chosen === cell}
                    aria-label={texts.cellWithCount(likelihood, impact, level, texts.riskCount(count))}
                    onClick={() => onChoose(cell)}
                  >
                    {count === 0 ? '·' : count}
                  </UnstyledButton>
                </td>
              );
            })}
          </tr>
        ))}
      </tbody>
      <tfoot>
        <tr>
          <td colSpan={2} />
          {DEGREES.map((impact) => (
            <th key={impact} scope="col">
              <span className="visually-hidden">{texts.impact}</span> {impact}
            </th>
          ))}
        </tr>
        <tr aria-hidden>
          <td colSpan={2} />
          <td colSpan={5} className={classes['across']}>
            {texts.impactAxis}
          </td>
        </tr>
      </tfoot>
    </table>
  );
}

/** The same as one sentence per level. */
function InText({ cells, total }: { readonly cells: readonly Cell[]; readonly total: number }): ReactNode {
  const rated = cells.reduce((sum, { count }) => sum + count, 0);
  const counts = (['critical', 'high', 'medium', 'low'] as const).map((level) => ({
    level,
    count: cells
      .filter(({ likelihood, impact }) => levelOf(likelihood * impact) === level)
      .reduce((sum, { count }) => sum + count, 0),
  }));
  return (
    <Text size="sm" mt="sm">
      {counts.map(({ level, count }) => `${inWords(level)} ${count}`).join(' · ')} ·{' '}
      {rated === total ? texts.riskCount(total) : texts.risksHaveThisRating(rated, total)}
    </Text>
  );
}

function CellRisks({
  of,
  likelihood,
  impact,
}: {
  readonly of: Rated;
  readonly likelihood: number;
  readonly impact: number;
}): ReactNode {
  const { inOrg, to } = useOrganization();
  const pages = recordPages(inOrg, 'risks', { limit: 200 });
  const found = useQuery({
    queryKey: [...pages({}).queryKey, of, likelihood, impact],
    queryFn: ({ signal }) =>
      sift<'risks'>(pages, {
        signal,
        most: MAX_SEARCHED,
        fits: (risk) =>
          risk[of]?.likelihood === likelihood &&
          risk[of].impact === impact &&
          !['closed', 'archived'].includes(risk.status),
      }),
  });
  return (
    <Section title={texts.cellTitle(likelihood, impact)}>
      {found.isPending && <ListLoading rows={3} />}
      {found.isError && <ListError error={found.error} onRetry={() => void found.refetch()} />}
      {found.data !== undefined && (
        <Paper aria-live="polite">
          {found.data.rows.length === 0 && <ListEmpty title={texts.noRiskHere} />}
          <List spacing={6} size="sm" listStyleType="none">
            {found.data.rows.slice(0, 100).map(({ id, title, status, [of]: rating }) => (
              <List.Item key={id}>
                <Group gap={8}>
                  {rating !== null && <Score score={rating.score} />}
                  <Anchor component={Link} to={to(`register/${encodeURIComponent(id)}`)} size="sm" className="wrap">
                    {title}
                  </Anchor>
                  <Status value={status} />
                </Group>
              </List.Item>
            ))}
          </List>
          {(!found.data.isWhole || found.data.rows.length > 100) && (
            <Text size="sm" c="dimmed" mt="sm">
              {texts.notAllAreShownHere}{' '}
              <Button component={Link} to={to('register')} variant="subtle" size="compact-sm">
                {texts.openTheRegister}
              </Button>
            </Text>
          )}
        </Paper>
      )}
    </Section>
  );
}
