import { useState, type ReactNode } from 'react';
import { Button, Group, Stack, Text, Title } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { CodeText } from '../../shell/code-text.tsx';
import { dataOf } from '../../shell/console-fetch.ts';
import { CursorTable } from '../../shell/cursor-table.tsx';
import { ListEmpty } from '../../shell/list-states.tsx';
import { quoted } from '../../shell/quoted.ts';
import { StateBadge } from '../../shell/state-badge.tsx';
import { ingestAdmin } from '../../shell/surfaces.ts';
import { ConfirmDialog } from '../confirm-dialog.tsx';
import { FormDialog } from '../form-dialog.tsx';
import { useGatewayAddress } from './curl-line.ts';
import { SourceDeliveries } from './source-deliveries.tsx';
import { SecretForm, type Source, SourceForm } from './source-form.tsx';

interface SourceTableProps {
  readonly networkId: string;
  readonly channels: readonly string[];
  readonly mayChange: boolean;
}

type Open =
  { readonly do: 'make' } | { readonly do: 'secrets' | 'deliveries' | 'delete' | 'test'; readonly source: Source };

/** Sources accept signed webhooks and write each delivery as a record. */
export function SourceTable({ networkId, channels, mayChange }: SourceTableProps): ReactNode {
  const [open, setOpen] = useState<Open>();
  const queries = useQueryClient();
  const address = useGatewayAddress();
  const close = (): void => setOpen(undefined);
  const done = (): void => {
    close();
    void queries.invalidateQueries({ queryKey: ['sources', networkId] });
  };
  const make = mayChange && <Button onClick={() => setOpen({ do: 'make' })}>New source</Button>;
  return (
    <Stack gap="sm" component="section" aria-label="Sources of webhooks">
      <Group justify="space-between">
        <Title order={2}>Sources of webhooks</Title>
        {make}
      </Group>
      <CursorTable
        label="Sources of webhooks"
        cursorName="sources"
        queryKey={['sources', networkId]}
        load={(cursor, signal) =>
          dataOf(
            ingestAdmin.GET('/admin/v1/networks/{networkId}/sources', {
              params: { path: { networkId }, query: { limit: 50, ...(cursor && { cursor }) } },
              signal,
            }),
          )
        }
        rowKey={({ sourceId }) => sourceId}
        columns={[
          { title: 'Name', cell: ({ name }) => name },
          { title: 'Scheme', cell: ({ scheme }) => scheme },
          { title: 'Address', cell: ({ path }) => <CodeText value={`${address}${path}`} label="the address" /> },
          {
            title: 'State',
            width: '7rem',
            cell: ({ enabled }) =>
              enabled ? <StateBadge tone="good">Enabled</StateBadge> : <StateBadge tone="wait">Disabled</StateBadge>,
          },
          {
            title: 'Actions',
            cell: (source) => <SourceActions mayChange={mayChange} onOpen={(what) => setOpen({ do: what, source })} />,
          },
        ]}
        empty={
          <ListEmpty title="No source yet" icon="live" action={make}>
            A source accepts signed webhooks of GitHub, Stripe and others; no key is needed.
          </ListEmpty>
        }
      />
      {open !== undefined && (
        <SourceDialog networkId={networkId} channels={channels} open={open} onDone={done} onClose={close} />
      )}
    </Stack>
  );
}

type Action = 'secrets' | 'deliveries' | 'delete' | 'test';

const changes = [
  ['test', 'Test'],
  ['secrets', 'Secrets'],
  ['delete', 'Delete'],
] as const;

function SourceActions({ mayChange, onOpen }: { mayChange: boolean; onOpen: (what: Action) => void }): ReactNode {
  const actions: readonly (readonly [Action, string])[] = [['deliveries', 'Deliveries'], ...(mayChange ? changes : [])];
  return (
    <Group gap={4}>
      {actions.map(([what, label]) => (
        <Button key={what} size="compact-sm" variant="default" onClick={() => onOpen(what)}>
          {label}
        </Button>
      ))}
    </Group>
  );
}

interface SourceDialogProps {
  readonly networkId: string;
  readonly channels: readonly string[];
  readonly open: Open;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

function SourceDialog({ networkId, channels, open, onDone, onClose }: SourceDialogProps): ReactNode {
  if (open.do === 'make') {
    return <SourceForm networkId={networkId} channels={channels} onDone={onDone} onClose={onClose} />;
  }
  const { source } = open;
  const { sourceId, name } = source;
  if (open.do === 'secrets') return <SecretForm source={source} onDone={onDone} onClose={onClose} />;
  if (open.do === 'deliveries') return <SourceDeliveries source={source} onClose={onClose} />;
  if (open.do === 'test') return <TestDelivery source={source} onClose={onClose} />;
  return (
    <ConfirmDialog
      title={`Delete ${quoted(name)}`}
      action="Delete the source"
      tone="danger"
      typed={name}
      run={() =>
        dataOf(
          ingestAdmin.DELETE('/admin/v1/networks/{networkId}/sources/{sourceId}', {
            params: { path: { networkId, sourceId } },
          }),
        )
      }
      onDone={onDone}
      onClose={onClose}
    >
      <Text size="sm">All further deliveries are refused. Its records stay in the ledger.</Text>
    </ConfirmDialog>
  );
}

/** The test is signed as by the sender, so it tests the whole path; it is written as a normal record. */
function TestDelivery({ source, onClose }: { source: Source; onClose: () => void }): ReactNode {
  const { networkId, sourceId, name } = source;
  const queries = useQueryClient();
  const test = useMutation({
    mutationFn: () =>
      dataOf(
        ingestAdmin.POST('/admin/v1/networks/{networkId}/sources/{sourceId}/test', {
          params: { path: { networkId, sourceId } },
          body: {},
        }),
      ),
    onSuccess: ({ code, outcome, status }) => {
      void queries.invalidateQueries({ queryKey: ['deliveries', sourceId] });
      notifications.show({
        color: code === null ? 'green' : 'red',
        title: code === null ? `The test delivery was ${outcome ?? 'answered'}` : 'The test delivery was refused',
        message: `Its sender would have been answered ${status}${code === null ? '' : ` ${code}`}.`,
      });
      onClose();
    },
  });
  return (
    <FormDialog
      title={`Test ${quoted(name)}`}
      action="Send a test delivery"
      doing={test}
      onSubmit={() => test.mutate()}
      onClose={onClose}
    >
      <Text size="sm">
        A sample is signed with the newest secret and processed like any delivery. Its record stays.
      </Text>
    </FormDialog>
  );
}
