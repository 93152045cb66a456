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
import * as texts from './texts.ts';

/** The venues; a closed venue admits nobody. */
export function VenuesPage(): ReactNode {
  const { name, isOperator } = useEnvironment();
  const [open, setOpen] = useState<Venue | 'new'>();
  return (
    <Page
      title={texts.venues}
      intro={texts.venuesIntro}
      actions={isOperator && <Button onClick={() => setOpen('new')}>{texts.newVenue}</Button>}
    >
      <CursorTable
        label={texts.venues}
        tools={{
          searches: texts.wordsInIdOrName,
          order: 'id',
          exports: isOperator ? exportOf(name, 'venues') : undefined,
        }}
        page={listed('/admin/case-gate/admin/v1/venues', { query: { environment: name } })}
        rowKey={({ venue_id }) => venue_id}
        columns={[
          { title: texts.name, cell: ({ name: venueName }) => <strong>{venueName}</strong> },
          { title: texts.id, sort: 'id', cell: ({ venue_id }) => <code>{venue_id}</code> },
          { title: texts.state, width: '8rem', cell: ({ active }) => <State value={active ? 'open' : 'closed'} /> },
          {
            title: texts.changed,
            width: '9rem',
            sort: '-updated_at',
            cell: ({ updated_at }) => <Time value={updated_at} form="ago" />,
          },
          {
            title: texts.actions,
            width: '8rem',
            cell: (venue) =>
              isOperator && (
                <Button size="compact-xs" variant="default" onClick={() => setOpen(venue)}>
                  {texts.change}
                </Button>
              ),
          },
        ]}
        empty={<ListEmpty title={texts.noVenueYet}>{texts.noVenueYetHint}</ListEmpty>}
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
      title={venue === undefined ? texts.newVenue : venue.venue_id}
      action={texts.save}
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
          label={texts.id}
          description={texts.idHint}
          required
          maxLength={64}
          {...form.getInputProps('venue_id')}
        />
      )}
      <TextInput label={texts.name} required maxLength={200} {...form.getInputProps('name')} />
      <Checkbox label={texts.open} {...form.getInputProps('active', { type: 'checkbox' })} />
    </FormDialog>
  );
}
