import type { ReactNode } from 'react';
import { Alert, Anchor, Button, Group, Paper, Stack, Table, Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation } from '@tanstack/react-query';
import { Link, useNavigate } from 'react-router';
import { server } from '../../shell/api.ts';
import { CursorTable } from '../../shell/cursor-table.tsx';
import { ListEmpty, Unread } from '../../shell/list-states.tsx';
import { useMayAdmin } from '../../shell/mine.ts';
import { Page, Section } from '../../shell/page.tsx';
import { ProblemView } from '../../shell/problem-view.tsx';
import { asProblem } from '../../shell/problem.ts';
import { channelTable } from '../ledger/channel-table.tsx';
import { useLedgerSurface } from '../ledger/ledger-source.ts';
import { logPath, usePublicLogs } from './public-peer.ts';
import * as texts from './texts.ts';

/** The public logs, a search in all of them, and what else the reader may read. */
export function LogList(): ReactNode {
  const logs = usePublicLogs();
  return (
    <Page title={texts.publicLog} intro={texts.publicLogIntro}>
      {logs.data !== undefined && logs.data.length > 0 && <FindByHash channels={logs.data} />}
      <Section title={texts.logs}>
        <Paper>
          <Unread read={logs} rows={2} />
          {logs.data?.length === 0 && (
            <ListEmpty title={texts.noLogIsPublicHere} icon="ledger">
              {texts.noLogIsPublicHereHint}
            </ListEmpty>
          )}
          {logs.data !== undefined && logs.data.length > 0 && (
            <Table aria-label={texts.publicLogs}>
              <Table.Tbody>
                {logs.data.map((channel) => (
                  <Table.Tr key={channel}>
                    <Table.Td>
                      <Anchor component={Link} to={logPath(channel)} fw={600} size="sm" className="wrap">
                        {channel}
                      </Anchor>
                    </Table.Td>
                  </Table.Tr>
                ))}
              </Table.Tbody>
            </Table>
          )}
        </Paper>
      </Section>
      <OwnLogs />
    </Page>
  );
}

/** The logs of the ledger that the reader administers or views. */
function OwnLogs(): ReactNode {
  const { surface } = useLedgerSurface();
  const mayRead = useMayAdmin(surface ?? 'ledger-peer', 'admin:read');
  if (surface === undefined || !mayRead) return null;
  const {
    columns: { channel, size, signed },
    ...table
  } = channelTable(surface);
  return (
    <Section title={texts.logsThatYouMayRead}>
      <CursorTable {...table} columns={[channel, size, signed]} />
    </Section>
  );
}

/** One after the other, as each search counts for the limit of an address. Undefined: none has it. Throws ProblemError. */
async function logWith(leafHash: string, channels: readonly string[]): Promise<string | undefined> {
  for (const channel of channels)
    try {
      await server.GET('/api/ledger-peer/ledger/{channel}/entry', {
        params: { path: { channel }, query: { leafHash } },
      });
      return channel;
    } catch (error) {
      if (asProblem(error).status !== 404) throw error;
    }
  return undefined;
}

const isLeafHash = (text: string): boolean => /^[0-9a-f]{64}$/i.test(text);

function FindByHash({ channels }: { readonly channels: readonly string[] }): ReactNode {
  const navigate = useNavigate();
  const form = useForm({
    initialValues: { leafHash: '' },
    validate: {
      leafHash: (text) => (isLeafHash(text.trim()) ? null : texts.leafHashFault),
    },
  });
  const search = useMutation({
    mutationFn: (leafHash: string) => logWith(leafHash, channels),
    onSuccess: (channel, leafHash) => {
      if (channel === undefined) form.setErrors({ leafHash: texts.noPublicLogHasAnEntry });
      else void navigate(logPath(channel, leafHash));
    },
  });
  const fault = form.errors['leafHash'];
  return (
    <Paper>
      <Stack gap="sm">
        <form
          noValidate
          onSubmit={form.onSubmit(({ leafHash }) => search.mutate(leafHash.trim().toLowerCase()))}
          role="search"
          aria-label={texts.searchInAllPublicLogs}
        >
          <Group align="flex-end">
            <TextInput
              label={texts.leafHash}
              flex="1 1 16rem"
              maxLength={80}
              spellCheck={false}
              {...form.getInputProps('leafHash', { withError: false })}
            />
            <Button type="submit" loading={search.isPending}>
              {texts.findInAllLogs}
            </Button>
          </Group>
        </form>
        <Text size="sm" c="dimmed">
          {texts.leafHashHint}
        </Text>
        {search.isError && <ProblemView error={search.error} />}
        {fault !== undefined && (
          <Alert role="alert" color="red" variant="light">
            {fault}
          </Alert>
        )}
      </Stack>
    </Paper>
  );
}
