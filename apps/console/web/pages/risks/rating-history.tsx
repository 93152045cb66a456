import type { ReactNode } from 'react';
import { Anchor, Group, Text } from '@mantine/core';
import { Link } from 'react-router';
import { api } from '../../shell/api.ts';
import { PlainTable } from '../../shell/cursor-table.tsx';
import { Unread } from '../../shell/list-states.tsx';
import { Section } from '../../shell/page.tsx';
import { Time } from '../../shell/time.tsx';
import { useOrganization } from './organization.tsx';
import { ScoreMove } from './record-values.tsx';
import type { RiskSchemas } from './risk-api.ts';
import * as texts from './texts.ts';

/** So many changes of a risk are kept. */
const KEPT = 200;

/** The changes of the current rating of a risk, newest first, down to the rating that it was made with. */
export function RatingHistory({ risk }: { readonly risk: RiskSchemas['RiskView'] }): ReactNode {
  const { inOrg, may, to } = useOrganization();
  const { id, createdAt, current } = risk;
  const found = api.useQuery('get', '/api/risk-partner/api/risks/{id}/score-changes', {
    ...inOrg,
    params: { path: { id } },
  });
  const changes = found.data ?? [];
  const first = { at: createdAt, version: 1, from: undefined, to: changes.at(-1)?.from ?? current };
  const audit = new URLSearchParams({ action: texts.riskUpdate, resource: 'risk', resourceId: id });
  return (
    <Section title={texts.title}>
      <Unread read={found} rows={2} />
      {found.data !== undefined && (
        <PlainTable
          label={texts.title}
          rows={changes.length < KEPT ? [...changes, first] : changes}
          rowKey={({ version }) => String(version)}
          columns={[
            { title: texts.when, width: '13rem', cell: ({ at }) => <Time value={at} /> },
            {
              title: texts.rating,
              cell: ({ from, to: rating }) => (
                <Group gap={8}>
                  <ScoreMove from={from} to={rating} />
                  {from === undefined && (
                    <Text size="sm" c="dimmed" component="span">
                      {texts.whenItWasMade}
                    </Text>
                  )}
                </Group>
              ),
            },
            {
              title: texts.likelihoodAndImpact,
              width: '14rem',
              cell: ({ to: { likelihood, impact } }) => texts.likelihoodThenImpact(likelihood, impact),
            },
          ]}
          empty={null}
        />
      )}
      {may('audit:read') && changes.length > 0 && (
        <Anchor component={Link} to={to(`audit?${audit}`)} size="sm">
          {texts.whoChangedThisRisk}
        </Anchor>
      )}
    </Section>
  );
}
