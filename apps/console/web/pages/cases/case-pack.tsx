import type { ReactNode } from 'react';
import { Button, Group, Paper, Stack, Text } from '@mantine/core';
import { Link } from 'react-router';
import { Section } from '../../shell/page.tsx';
import type { CaseDetail } from './case-api.ts';
import { useEnvironment } from './environment.tsx';

/** The pack for an assessor is a page of its own: reading it is an export, and audited. */
export function CasePack({ found }: { readonly found: CaseDetail }): ReactNode {
  const { to } = useEnvironment();
  const isDraft = !found.seals.some(({ sealed_at }) => sealed_at !== null);
  return (
    <Section title="Pack for an assessor">
      <Paper>
        <Stack gap="sm">
          <Text size="sm">
            {isDraft
              ? 'Nothing is sealed yet, so the pack is a draft and shows no seals.'
              : 'Timeline, decisions, hashes and seals with their proofs, signed: to read, to print, and to save.'}
          </Text>
          <Group>
            <Button component={Link} to={to(`queue/${found.case_id}/pack`)} variant="default">
              Open the pack
            </Button>
          </Group>
        </Stack>
      </Paper>
    </Section>
  );
}
