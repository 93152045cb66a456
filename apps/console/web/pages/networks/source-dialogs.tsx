import { useState, type ReactNode } from 'react';
import { Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { api, server, useReload } from '../../shell/api.ts';
import { quoted } from '../../shell/quoted.ts';
import { ConfirmDialog } from '../confirm-dialog.tsx';
import { FormDialog } from '../form-dialog.tsx';
import type { Source } from './source-presets.ts';
import { SourceEdit } from './source-edit.tsx';
import { SourceSecrets } from './source-secrets.tsx';

export type SourceAction = 'edit' | 'secrets' | 'test' | 'pause' | 'delete';

/** What an operator may do with a source, in the order of menus. */
export const sourceActions = ({ enabled }: Source): readonly (readonly [SourceAction, string])[] => [
  ['edit', 'Edit'],
  ['secrets', 'Secrets'],
  ['test', 'Test'],
  ['pause', enabled ? 'Pause' : 'Resume'],
  ['delete', 'Delete'],
];

interface Dialogs {
  readonly open: (action: SourceAction, source: Source) => void;
  readonly dialog: ReactNode;
}

/** The dialogs of sources. `onGone` is called after one was deleted. */
export function useSourceDialogs(onGone?: () => void): Dialogs {
  const [open, setOpen] = useState<{ readonly action: SourceAction; readonly source: Source }>();
  const reload = useReload();
  const close = (): void => setOpen(undefined);
  const done = (): void => {
    void reload('/admin/ingest-gateway/admin/v1/networks');
    if (open?.action === 'delete') onGone?.();
    close();
  };
  return {
    open: (action, source) => setOpen({ action, source }),
    dialog: open !== undefined && <SourceDialog {...open} onDone={done} onClose={close} />,
  };
}

interface DialogProps {
  readonly source: Source;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

function SourceDialog({ action, ...props }: DialogProps & { readonly action: SourceAction }): ReactNode {
  if (action === 'edit') return <SourceEdit {...props} />;
  if (action === 'secrets') return <SourceSecrets source={props.source} onClose={props.onClose} />;
  if (action === 'test') return <TestDelivery {...props} />;
  if (action === 'pause') return <Pause {...props} />;
  return <Remove {...props} />;
}

function Pause({ source: { networkId, sourceId, name, enabled }, ...props }: DialogProps): ReactNode {
  return (
    <ConfirmDialog
      title={`${enabled ? 'Pause' : 'Resume'} ${quoted(name)}`}
      action={enabled ? 'Pause the source' : 'Resume the source'}
      run={() =>
        server.PATCH('/admin/ingest-gateway/admin/v1/networks/{networkId}/sources/{sourceId}', {
          params: { path: { networkId, sourceId } },
          body: { enabled: !enabled },
        })
      }
      {...props}
    >
      <Text size="sm">
        {enabled
          ? 'Its sender gets 404 for every delivery until it is resumed. Most senders repeat for some hours or days, and then give up.'
          : 'Deliveries are accepted again from the next one on. What was sent meanwhile arrives as far as its sender repeats it.'}
      </Text>
    </ConfirmDialog>
  );
}

const Remove = ({ source: { networkId, sourceId, name }, ...props }: DialogProps): ReactNode => (
  <ConfirmDialog
    title={`Delete ${quoted(name)}`}
    action="Delete the source"
    tone="danger"
    typed={name}
    run={() =>
      server.DELETE('/admin/ingest-gateway/admin/v1/networks/{networkId}/sources/{sourceId}', {
        params: { path: { networkId, sourceId } },
      })
    }
    {...props}
  >
    <Text size="sm">
      All further deliveries are refused, and what is kept of refused ones is deleted. Its records stay in the ledger.
    </Text>
  </ConfirmDialog>
);

/** The test is signed as by the sender, so it tests the whole path; it is written as a normal record. */
function TestDelivery({ source: { networkId, sourceId, name }, onClose }: DialogProps): ReactNode {
  const reload = useReload();
  const test = api.useMutation('post', '/admin/ingest-gateway/admin/v1/networks/{networkId}/sources/{sourceId}/test', {
    onSuccess: ({ code, outcome, status }) => {
      void reload('/admin/ingest-gateway/admin/v1/networks');
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
      onSubmit={() => test.mutate({ params: { path: { networkId, sourceId } }, body: {} })}
      onClose={onClose}
    >
      <Text size="sm">
        A sample is signed with the newest secret and processed like any delivery. Its record stays.
      </Text>
    </FormDialog>
  );
}
