import { useState, type ReactNode } from 'react';
import { Button, Checkbox, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { CursorTable } from '../../shell/cursor-table.tsx';
import { ListEmpty } from '../../shell/list-states.tsx';
import { Page } from '../../shell/page.tsx';
import { Time } from '../../shell/time.tsx';
import { FormDialog } from '../form-dialog.tsx';
import { exportOf, type Page as PageOf, type Venue } from './case-api.ts';
import { State } from './case-words.tsx';
import { useEnvironment } from './environment.tsx';

/** The venues; a closed venue admits nobody. */
export function VenuesPage(): ReactNode {
  const { name, isOperator, read } = useEnvironment();
  const [open, setOpen] = useState<Venue | 'new'>();
  return (
    <Page
      title="Venues"
      intro="A closed venue admits nobody, as soon as the change is saved."
      actions={isOperator && <Button onClick={() => setOpen('new')}>New venue</Button>}
    >
      <CursorTable
        label="Venues"
        queryKey={['cases', name, 'venues']}
        tools={{
          searches: 'id or name',
          order: 'id',
          exports: isOperator ? exportOf(name, 'venues') : undefined,
        }}
        load={(cursor, _signal, asked) => read<PageOf<Venue>>('/venues', { ...asked, cursor, limit: '50' })}
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
  const { send, reload } = useEnvironment();
  const [id, setId] = useState('');
  const [name, setName] = useState(venue?.name ?? '');
  const [active, setActive] = useState(venue?.active ?? true);
  const save = useMutation({
    mutationFn: () =>
      venue === undefined
        ? send('/venues', { venue_id: id.trim(), name, active })
        : send(`/venues/${venue.venue_id}`, { name, active }, 'PATCH'),
    onSuccess() {
      reload();
      onClose();
    },
  });
  return (
    <FormDialog
      title={venue === undefined ? 'New venue' : venue.venue_id}
      action="Save"
      doing={save}
      onSubmit={() => save.mutate()}
      onClose={onClose}
    >
      {venue === undefined && (
        <TextInput
          label="Id"
          description="Letters, digits, hyphens and underscores. It never changes."
          required
          pattern={'[A-Za-z0-9_\\-]{1,64}'}
          value={id}
          onChange={(event) => setId(event.currentTarget.value)}
        />
      )}
      <TextInput
        label="Name"
        required
        maxLength={200}
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
      />
      <Checkbox label="Open" checked={active} onChange={(event) => setActive(event.currentTarget.checked)} />
    </FormDialog>
  );
}
