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
import * as texts from './source-texts.ts';

export type SourceAction = 'edit' | 'secrets' | 'test' | 'pause' | 'delete';

/** What an operator may do with a source, in the order of menus. */
export const sourceActions = ({ enabled }: Source): readonly (readonly [SourceAction, string])[] => [
  ['edit', texts.edit],
  ['secrets', texts.secrets],
  ['test', texts.test],
  ['pause', enabled ? texts.pause : texts.resume],
  ['delete', texts.remove],
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
      title={enabled ? texts.pauseNamed(quoted(name)) : texts.resumeNamed(quoted(name))}
      action={enabled ? texts.pauseTheSource : texts.resumeTheSource}
      run={() =>
        server.PATCH('/admin/ingest-gateway/admin/v1/networks/{networkId}/sources/{sourceId}', {
          params: { path: { networkId, sourceId } },
          body: { enabled: !enabled },
        })
      }
      {...props}
    >
      <Text size="sm">{enabled ? texts.pauseHint : texts.resumeHint}</Text>
    </ConfirmDialog>
  );
}

const Remove = ({ source: { networkId, sourceId, name }, ...props }: DialogProps): ReactNode => (
  <ConfirmDialog
    title={texts.deleteNamed(quoted(name))}
    action={texts.deleteTheSource}
    tone="danger"
    typed={name}
    run={() =>
      server.DELETE('/admin/ingest-gateway/admin/v1/networks/{networkId}/sources/{sourceId}', {
        params: { path: { networkId, sourceId } },
      })
    }
    {...props}
  >
    <Text size="sm">{texts.deleteHint}</Text>
  </ConfirmDialog>
);

/** The test is signed as by the sender, so it tests the whole path; it is written as a normal record. */
function TestDelivery({ source: { networkId, sourceId, name }, onClose }: DialogProps): ReactNode {
  const reload = useReload();
  const test = api.useMutation('post', '/admin/ingest-gateway/admin/v1/networks/{networkId}/sources/{sourceId}/test', {
    onSuccess: ({ code, outcome, status }) => {
      void reload('/admin/ingest-gateway/admin/v1/networks');
      const answer = code === null ? String(status) : `${status} ${code}`;
      notifications.show({
        color: code === null ? 'green' : 'red',
        title: code === null ? texts.theTestDeliveryWas(outcome ?? 'answered') : texts.theTestDeliveryWasRefused,
        message: texts.itsSenderWouldHaveBeenAnswered(answer),
      });
      onClose();
    },
  });
  return (
    <FormDialog
      title={texts.testNamed(quoted(name))}
      action={texts.sendATestDelivery}
      doing={test}
      onSubmit={() => test.mutate({ params: { path: { networkId, sourceId } }, body: {} })}
      onClose={onClose}
    >
      <Text size="sm">{texts.testHint}</Text>
    </FormDialog>
  );
}
