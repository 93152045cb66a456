import type { ReactNode } from 'react';
import { Anchor, List, Paper, Stack, Text } from '@mantine/core';
import { Page } from '../../shell/page.tsx';
import { useSession } from '../../shell/session.ts';
import * as texts from './texts.ts';

const COLLECTIONS = [
  'assets',
  'risks',
  'evidence',
  'controls',
  'policies',
  'frameworks',
  'coverage',
  'proofs',
  'snapshots',
];

/** The start page of a partner machine: the partner API is all it reads. */
const pathOf = (at: string | undefined, name: string): string => `${at ?? ''}/api/v1/${name}`;

export function PartnerHome(): ReactNode {
  const session = useSession();
  const at = session.data?.surfaces.find(({ id }) => id === 'risk-partner')?.publicUrl;
  return (
    <Page title={texts.partnerAccess} intro={texts.partnerAccessIntro}>
      <Paper>
        <Stack gap="sm">
          <Text size="sm">{texts.youMayReadTheseCollections}</Text>
          <List size="sm" spacing={4}>
            {COLLECTIONS.map((name) => (
              <List.Item key={name}>
                <code className="wrap">{pathOf(at, name)}</code>
              </List.Item>
            ))}
          </List>
          {at !== undefined && (
            <Text size="sm">
              <Anchor href={`${at}/api/v1/openapi.json`}>{texts.theDescriptionOfTheApi}</Anchor>
            </Text>
          )}
        </Stack>
      </Paper>
    </Page>
  );
}
