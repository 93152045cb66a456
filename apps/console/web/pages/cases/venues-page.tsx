import { useState, type ReactNode } from 'react';
import { Button, Checkbox, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { api, listed } from '../../shell/api.ts';
import { CursorTable } from '../../shell/cursor-table.tsx';
import { ListEmpty } from '../../shell/list-states.tsx';
import { Page } from '../../shell/page.tsx';
import { Time } from '../../shell/time.tsx';
import { FormDialog } from '../form-dialog.tsx';
import { filled } from '../form-faults.ts';
import { exportOf, type Venue } from './case-api.ts';
import { State } from './case-words.tsx';
import { useEnvironment } from './environment.tsx';

/** The venues; a closed venue admits nobody. */
export function VenuesPage(): ReactNode {
  const { name, isOperator } = useEnvironment();
  const [open, setOpen] = useState<Venue | 'new'>();
  return (
    <Page
      title="Venues"
      intro="A closed venue admits nobody, as soon as the change is saved."
      actions={isOperator && <Button onClick={() => setOpen('new')}>New venue</Button>}
    >
      <CursorTable
        label="Venues"
        tools={{
          searches: 'id or name',
          order: 'id',
          exports: isOperator ? exportOf(name, 'venues') : undefined,
        }}
        page={listed('/admin/case-gate/admin/v1/venues', { query: { environment: name } })}
        rowKey={({ venue_id }) => venue_id}
        columns={[
          { title: 'Name', cell: ({ name: venueName }) => <strong>{venueName}</strong> },
          { title: 'Id', sort: 'id', cell: ({ venue_id }) => <code>{venue_id}</code> },
          { title: 'State', width: '8rem', cell: ({ active }) => <State value={active ? 'open' : 'closed'} /> },
          {
            title: 'Changed',
            width: '9rem',
            sort: '-updated_at',
            cell: ({ updated_at }) => <Time value={updated_at} form="ago" />,
          },
          {
            title: 'Actions',
            width: '8rem',
            cell: (venue) =>
              isOperator && (
                <Button size="compact-xs" variant="default" onClick={() => setOpen(venue)}>
                  Change
                </Button>
              ),
          },
        ]}
        empty={<ListEmpty title="No venue yet">An approval names venues, or all of them.</ListEmpty>}
      />
      {open !== undefined && (
        <VenueDialog venue={open === 'new' ? undefined : open} onClose={() => setOpen(undefined)} />
      )}
    </Page>
  );
}

function VenueDialog({
  venue,
  onClose,
}: {
  readonly venue: Venue | undefined;
  readonly onClose: () => void;
}): ReactNode {
  const { name: environment, reload } = useEnvironment();
  const saved = {
    onSuccess() {
      reload();
      onClose();
    },
  };
  const make = api.useMutation('post', '/admin/case-gate/admin/v1/venues', saved);
  const change = api.useMutation('patch', '/admin/case-gate/admin/v1/venues/{venue_id}', saved);
  const form = useForm({
    initialValues: { venue_id: venue?.venue_id ?? '', name: venue?.name ?? '', active: venue?.active ?? true },
    validate: { venue_id: filled, name: filled },
  });
  return (
    <FormDialog
      title={venue === undefined ? 'New venue' : venue.venue_id}
      action="Save"
      form={form}
      doing={venue === undefined ? make : change}
      onSubmit={({ venue_id, ...body }) =>
        venue === undefined
          ? make.mutate({ params: { query: { environment } }, body: { venue_id: venue_id.trim(), ...body } })
          : change.mutate({ params: { path: { venue_id }, query: { environment } }, body })
      }
      onClose={onClose}
    >
      {venue === undefined && (
        <TextInput
          label="Id"
          description="Letters, digits, hyphens and underscores. It never changes."
          required
          maxLength={64}
          {...form.getInputProps('venue_id')}
        />
      )}
      <TextInput label="Name" required maxLength={200} {...form.getInputProps('name')} />
      <Checkbox label="Open" {...form.getInputProps('active', { type: 'checkbox' })} />
    </FormDialog>
  );
}
