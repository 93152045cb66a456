import type { ReactNode } from 'react';
import { Button, Group, Paper, Stack, Text } from '@mantine/core';
import { Link } from 'react-router';
import { Section } from '../../shell/page.tsx';
import type { CaseDetail } from './case-api.ts';
import * as texts from './case-texts.ts';
import { useEnvironment } from './environment.tsx';

/** The pack for an assessor is a page of its own: reading it is an export, and audited. */
export function CasePack({ found }: { readonly found: CaseDetail }): ReactNode {
  const { to } = useEnvironment();
  const isDraft = !found.seals.some(({ sealed_at }) => sealed_at !== null);
  return (
    <Section title={texts.packForAnAssessor}>
      <Paper>
        <Stack gap="sm">
          <Text size="sm">{isDraft ? texts.packIsDraft : texts.packHint}</Text>
          <Group>
            <Button component={Link} to={to(`queue/${found.case_id}/pack`)} variant="default">
              {texts.openThePack}
            </Button>
          </Group>
        </Stack>
      </Paper>
    </Section>
  );
}
