import { useMemo, type ReactNode } from 'react';
import { Anchor, Group, List, Paper, Select, SimpleGrid, Stack, Text, UnstyledButton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'react-router';
import { api, server } from '../../shell/api.ts';
import { compareTexts } from '../../shell/formats.ts';
import { ListEmpty, ListError, ListLoading, Unread } from '../../shell/list-states.tsx';
import { Page, Section } from '../../shell/page.tsx';
import { Time } from '../../shell/time.tsx';
import { useUrlFilters } from '../../shell/use-url-filters.ts';
import { FilterBox } from '../filter-bar.tsx';
import { useOrganization } from './organization.tsx';
import { valuesOf } from './record-schemas.ts';
import { Status } from './record-values.tsx';
import type { InOrganization, RiskSchemas } from './risk-api.ts';
import * as texts from './texts.ts';
import classes from './risks.module.css';
import { inWords } from './words.ts';

type Coverage = RiskSchemas['Coverage'];
type CoverageState = Coverage['state'];

/** Maximum number of requirements of a framework. */
const REQUIREMENTS_MAX = 2000;

type Framework = RiskSchemas['FrameworkWithRequirements'];

/** The coverage of a framework's requirements, and the gaps. */
export function CoveragePage(): ReactNode {
  const { inOrg } = useOrganization();
  const [chosen, choose] = useUrlFilters(['framework', 'state', 'requirement']);
  const frameworks = api.useQuery('get', '/api/risk-partner/api/v1/frameworks', {
    ...inOrg,
    params: { query: { limit: 200 } },
  });
  const items = frameworks.data?.items ?? [];
  const framework = items.find(({ id }) => id === chosen.framework) ?? items[0];
  return (
    <Page title={texts.coverage} intro={texts.coverageIntro}>
      <Unread read={frameworks} />
      {frameworks.data !== undefined && framework === undefined && (
        <ListEmpty title={texts.noFrameworkYet}>{texts.noFrameworkYetHint}</ListEmpty>
      )}
      {framework !== undefined && (
        <>
          <FilterBox count={chosen.state === undefined ? 0 : 1}>
            <Select
              label={texts.framework}
              allowDeselect={false}
              value={framework.id}
              w={280}
              data={items.map(({ id, name, version }) => ({ value: id, label: `${name ?? id} ${version ?? ''}` }))}
              onChange={(id) => choose({ framework: id, requirement: null })}
            />
            <Select
              label={texts.state}
              clearable
              placeholder={texts.all}
              value={chosen.state ?? null}
              w={170}
              data={valuesOf('CoverageState').map((value) => ({ value, label: inWords(value) }))}
              onChange={(state) => choose({ state, requirement: null })}
              clearButtonProps={{ 'aria-label': texts.clearState }}
            />
          </FilterBox>
          <Matrix
            key={framework.id}
            frameworkId={framework.id}
            chosen={chosen}
            onChoose={(requirement) => choose({ requirement })}
          />
        </>
      )}
    </Page>
  );
}

/** All pages. */
async function coverageOf(inOrg: InOrganization, framework: string, signal: AbortSignal): Promise<Coverage[]> {
  const rows: Coverage[] = [];
  let cursor: string | undefined;
  do {
    const query = { framework, limit: 200, ...(cursor !== undefined && { cursor }) };
    const { data } = await server.GET('/api/risk-partner/api/v1/coverage', { ...inOrg, params: { query }, signal });
    rows.push(...data!.items);
    cursor = data!.pagination.nextCursor ?? undefined;
  } while (cursor !== undefined && rows.length < REQUIREMENTS_MAX);
  return rows;
}

interface MatrixProps {
  readonly frameworkId: string;
  readonly chosen: { readonly state?: string; readonly requirement?: string };
  readonly onChoose: (requirement: string | null) => void;
}

function Matrix({ frameworkId, chosen, onChoose }: MatrixProps): ReactNode {
  const { inOrg } = useOrganization();
  const coverage = useQuery({
    queryKey: ['get', '/api/risk-partner/api/v1/coverage', inOrg, frameworkId],
    queryFn: ({ signal }) => coverageOf(inOrg, frameworkId, signal),
  });
  const framework = api.useQuery('get', '/api/risk-partner/api/frameworks/{id}', {
    ...inOrg,
    params: { path: { id: frameworkId } },
  });
  const ordered = useMemo(() => inOrder(coverage.data ?? [], framework.data), [coverage.data, framework.data]);
  if (coverage.isError) return <ListError error={coverage.error} onRetry={() => void coverage.refetch()} />;
  if (coverage.data === undefined) return <ListLoading />;
  const titleOf = (requirementId: string) => framework.data?.requirements.find(({ id }) => id === requirementId)?.title;
  const shown = ordered.filter(({ state }) => chosen.state === undefined || state === chosen.state);
  const open = ordered.find(({ requirementId }) => requirementId === chosen.requirement);
  return (
    <>
      <Counts rows={ordered} />
      {open !== undefined && <Requirement row={open} title={titleOf(open.requirementId)} />}
      {shown.length === 0 && <ListEmpty title={texts.noRequirementInThisState} />}
      {groupsOf(shown).map(([group, rows]) => (
        <Section key={group} title={group}>
          <ul className={classes['tiles']}>
            {rows.map(({ requirementId, state }) => (
              <li key={requirementId}>
                <UnstyledButton
                  className={classes['tile']}
                  data-state={state}
                  title={titleOf(requirementId)}
                  aria-pressed={requirementId === chosen.requirement}
                  onClick={() => onChoose(requirementId === chosen.requirement ? null : requirementId)}
                >
                  <strong>{requirementId}</strong>
                  <span>{inWords(state)}</span>
                </UnstyledButton>
              </li>
            ))}
          </ul>
        </Section>
      ))}
      <Gaps rows={ordered.filter(({ state }) => state === 'gap' || state === 'partial')} titleOf={titleOf} />
    </>
  );
}

/** In the order of the framework, or by id in natural order. */
function inOrder(rows: readonly Coverage[], framework: Framework | undefined): Coverage[] {
  const places = new Map(framework?.requirements.map(({ id }, place) => [id, place]));
  return rows.toSorted(
    (one, other) =>
      (places.get(one.requirementId) ?? Infinity) - (places.get(other.requirementId) ?? Infinity) ||
      compareTexts(one.requirementId, other.requirementId),
  );
}

/** Groups requirements by the part of their id before the last dot or hyphen, if that makes groups. */
function groupsOf(rows: readonly Coverage[]): [string, Coverage[]][] {
  const groups = Object.entries(
    Object.groupBy(rows, ({ requirementId }) => /^(.+)[.-][^.-]+$/.exec(requirementId)?.[1] ?? texts.requirements),
  );
  return groups.length <= rows.length / 2 || groups.length === 1
    ? groups.map(([name, some]) => [name, some ?? []])
    : [[texts.requirements, [...rows]]];
}

function Counts({ rows }: { readonly rows: readonly Coverage[] }): ReactNode {
  const counted = rows.filter(({ state }) => state !== 'not_applicable');
  const share =
    counted.length === 0
      ? 0
      : Math.floor((100 * counted.filter(({ state }) => state === 'covered').length) / counted.length);
  return (
    <SimpleGrid cols={{ base: 2, sm: 5 }}>
      <Figure label={texts.coveredOfApplicable} value={`${share} %`} />
      {(valuesOf('CoverageState') as readonly CoverageState[]).map((state) => (
        <Figure key={state} label={inWords(state)} value={String(rows.filter((row) => row.state === state).length)} />
      ))}
    </SimpleGrid>
  );
}

const Figure = ({ label, value }: { readonly label: string; readonly value: string }): ReactNode => (
  <Paper p="sm">
    <Text size="sm" c="dimmed">
      {label}
    </Text>
    <Text fw={700} fz={24}>
      {value}
    </Text>
  </Paper>
);

/** The missing parts, as text. */
const lackOf = ({ controlIds, evidenceIds }: Coverage): string =>
  controlIds.length === 0
    ? texts.noControlIsLinked
    : evidenceIds.length === 0
      ? texts.itsControlsHaveNoValidEvidence
      : texts.someControlsLack;

function Requirement({ row, title }: { readonly row: Coverage; readonly title: string | undefined }): ReactNode {
  const { to } = useOrganization();
  const links = (page: string, ids: readonly string[]) =>
    ids.length === 0 ? (
      <Text size="sm">{texts.none}</Text>
    ) : (
      ids.map((id) => (
        <Anchor key={id} component={Link} to={to(`${page}/${encodeURIComponent(id)}`)} size="sm">
          {id}
        </Anchor>
      ))
    );
  return (
    <Paper aria-live="polite" component="section" aria-label={texts.requirement(row.requirementId)}>
      <Stack gap="xs">
        <Group gap="sm">
          <Text fw={700}>{row.requirementId}</Text>
          <Status value={row.state} />
        </Group>
        {title !== undefined && (
          <Text size="sm" className="wrap">
            {title}
          </Text>
        )}
        {(row.state === 'gap' || row.state === 'partial') && <Text size="sm">{lackOf(row)}</Text>}
        <SimpleGrid cols={{ base: 1, sm: 3 }}>
          <div>
            <Text size="sm" c="dimmed">
              {texts.controls}
            </Text>
            <Group gap={8}>{links('controls', row.controlIds)}</Group>
          </div>
          <div>
            <Text size="sm" c="dimmed">
              {texts.evidence}
            </Text>
            <Group gap={8}>{links('evidence', row.evidenceIds)}</Group>
          </div>
          <div>
            <Text size="sm" c="dimmed">
              {texts.freshestEvidence}
            </Text>
            {row.freshestEvidenceAt === null ? (
              <Text size="sm">{texts.none}</Text>
            ) : (
              <Time value={row.freshestEvidenceAt} form="day" />
            )}
          </div>
        </SimpleGrid>
      </Stack>
    </Paper>
  );
}

function Gaps({
  rows,
  titleOf,
}: {
  readonly rows: readonly Coverage[];
  readonly titleOf: (id: string) => string | undefined;
}): ReactNode {
  if (rows.length === 0) return null;
  return (
    <Section title={texts.gaps(rows.length)}>
      <Paper>
        <List size="sm" spacing={6} listStyleType="none">
          {rows.slice(0, 200).map((row) => (
            <List.Item key={row.requirementId}>
              <Group gap={8}>
                <strong>{row.requirementId}</strong>
                <Status value={row.state} />
                <span className="wrap">{titleOf(row.requirementId)}</span>
                <Text component="span" size="sm" c="dimmed">
                  {lackOf(row)}
                </Text>
              </Group>
            </List.Item>
          ))}
        </List>
      </Paper>
    </Section>
  );
}
