import type { ReactNode } from 'react';
import { Anchor, List, Paper, Stack, Text } from '@mantine/core';
import { Page } from '../../shell/page.tsx';
import { useSession } from '../../shell/session.ts';

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
export function PartnerHome(): ReactNode {
  const session = useSession();
  const at = session.data?.surfaces.find(({ id }) => id === 'risk-partner')?.publicUrl;
  return (
    <Page title="Partner access" intro="This sign-in reads the partner API, and nothing else of the console.">
      <Paper>
        <Stack gap="sm">
          <Text size="sm">You may read these collections; each answer is signed and can be checked offline.</Text>
          <List size="sm" spacing={4}>
            {COLLECTIONS.map((name) => (
              <List.Item key={name}>
                <code className="wrap">{`${at ?? ''}/api/v1/${name}`}</code>
              </List.Item>
            ))}
          </List>
          {at !== undefined && (
            <Text size="sm">
              <Anchor href={`${at}/api/v1/openapi.json`}>The description of the API</Anchor>
            </Text>
          )}
        </Stack>
      </Paper>
    </Page>
  );
}
