import type { ReactNode } from 'react';
import { Button, Group, Paper, Stack, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { consoleFetch } from '../../shell/console-fetch.ts';
import { Section } from '../../shell/page.tsx';
import { ProblemView } from '../../shell/problem-view.tsx';
import { problemFrom } from '../../shell/problem.ts';
import { adminPath, type CaseDetail } from './case-api.ts';
import { useEnvironment } from './environment.tsx';

/** The pack for an assessor: a printable page, or a signed file for verification. Each export is audited. */
export function CasePack({ found }: { readonly found: CaseDetail }): ReactNode {
  const { name } = useEnvironment();
  const isDraft = !found.seals.some(({ sealed_at }) => sealed_at !== null);
  const path = adminPath(`/cases/${encodeURIComponent(found.case_id)}/assessor-pack`, {
    environment: name,
    draft: isDraft ? 'true' : undefined,
  });
  const save = useMutation({
    async mutationFn() {
      const response = await consoleFetch(path, { headers: { Accept: 'application/json' } });
      if (!response.ok) throw problemFrom(response, await response.json().catch(() => undefined), Date.now());
      // The unchanged bytes: the signature is over these.
      saveFile(await response.blob(), `${found.case_id}${isDraft ? '.draft' : ''}.pack.json`);
    },
  });
  return (
    <Section title="Pack for an assessor">
      <Paper>
        <Stack gap="sm">
          <Text size="sm">
            {isDraft
              ? 'Nothing is sealed yet, so the pack is a draft and shows no seals.'
              : 'Timeline, decisions, hashes and seals with their proofs, signed. The page Verify checks the file.'}
          </Text>
          <Group>
            <Button component="a" href={path} target="_blank" rel="noopener" variant="default">
              Open as a page
            </Button>
            <Button variant="default" loading={save.isPending} onClick={() => save.mutate()}>
              Save as a file
            </Button>
          </Group>
          {save.isError && <ProblemView error={save.error} onRetry={() => save.mutate()} />}
        </Stack>
      </Paper>
    </Section>
  );
}

function saveFile(content: Blob, name: string): void {
  const address = URL.createObjectURL(content);
  const link = document.createElement('a');
  Object.assign(link, { href: address, download: name });
  link.click();
  // The browser has read the content by then.
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
