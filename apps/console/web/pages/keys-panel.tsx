import { useState, type ReactNode } from 'react';
import { Button, Text } from '@mantine/core';
import type { KeyEnd } from '@sealgate/auth/key-state';
import { useQueryClient } from '@tanstack/react-query';
import { CursorTable, type Column, type PageAt, type PageQuery } from '../shell/cursor-table.tsx';
import { ListEmpty } from '../shell/list-states.tsx';
import { quoted } from '../shell/quoted.ts';
import { Time } from '../shell/time.tsx';
import { ConfirmDialog } from './confirm-dialog.tsx';
import { KeyShown } from './key-shown.tsx';
import { KeyState, isValid } from './key-state.tsx';
import { RowMenu } from './row-menu.tsx';
import * as texts from './texts.ts';

/** What every surface says of a key. */
interface ListedKey extends KeyEnd {
  readonly id: string;
  readonly label: string;
  readonly keyPrefix: string;
  readonly createdAt: string;
  readonly lastUsedAt: string | null;
}

/** A new key, whole: it is shown once. */
interface NewKey {
  readonly label: string;
  readonly rawKey: string;
}

export interface MintProps<Key, Minted> {
  /** The key to replace: its label and rights are those of the new one. */
  readonly replaced: Key | undefined;
  /** Whether it is replaced because it leaked. */
  readonly isLeaked: boolean;
  readonly onMinted: (minted: Minted) => void;
  readonly onClose: () => void;
}

interface KeysPanelProps<Key extends ListedKey, Minted extends NewKey> {
  /** Accessible name of the table. */
  readonly label: string;
  readonly page: (at: PageAt) => PageQuery<Key>;
  readonly cursorName?: string;
  /** What keys of this surface may do. */
  readonly rights?: Column<Key>;
  readonly may: { readonly mint: boolean; readonly revoke: boolean };
  readonly mintTitle: string;
  readonly emptyText: string;
  readonly dialog: (props: MintProps<Key, Minted>) => ReactNode;
  /** What the new key reaches, each with a label. */
  readonly reachOf?: (minted: Minted) => readonly (readonly [label: string, value: string])[];
  /** A shell command that tries the new key. */
  readonly curlOf: (minted: Minted) => string;
  readonly revoke: (key: Key) => Promise<unknown>;
  /** What happens to who uses a key that is revoked. */
  readonly revokedText: string;
}

type Open<Key, Minted> =
  | { readonly what: 'mint' }
  | { readonly what: 'rotate' | 'leaked' | 'revoke'; readonly key: Key }
  | { readonly what: 'shown'; readonly minted: Minted };

/**
 * The keys of a surface, live and recently ended: minted, shown once, rotated and revoked. `button` mints one, and is to
 * be shown with the heading.
 */
export function useKeysPanel<Key extends ListedKey, Minted extends NewKey>(
  props: KeysPanelProps<Key, Minted>,
): { readonly button: ReactNode; readonly panel: ReactNode } {
  const { may, mintTitle, label, page, cursorName, rights, emptyText } = props;
  const [open, setOpen] = useState<Open<Key, Minted>>();
  const button = may.mint && <Button onClick={() => setOpen({ what: 'mint' })}>{mintTitle}</Button>;
  const panel = (
    <>
      <CursorTable
        label={label}
        isDense
        page={page}
        {...(cursorName !== undefined && { cursorName })}
        rowKey={({ id }) => id}
        columns={columnsOf(rights, (key) => (
          <KeyActions keyView={key} may={may} onOpen={(what) => setOpen({ what, key })} />
        ))}
        empty={
          <ListEmpty title={texts.noKeyYet} icon="networks" action={button}>
            {emptyText}
          </ListEmpty>
        }
      />
      {open !== undefined && <Dialog {...props} open={open} onOpen={setOpen} />}
    </>
  );
  return { button, panel };
}

function columnsOf<Key extends ListedKey>(
  rights: Column<Key> | undefined,
  actions: (key: Key) => ReactNode,
): readonly Column<Key>[] {
  return [
    {
      title: texts.label,
      cell: ({ label, keyPrefix }) => (
        <div>
          <strong className="wrap">{label}</strong>{' '}
          <Text span size="xs" c="dimmed" ff="monospace">
            {keyPrefix}…
          </Text>
        </div>
      ),
    },
    ...(rights === undefined ? [] : [rights]),
    { title: texts.state, width: '14rem', cell: (key) => <KeyState times={key} /> },
    { title: texts.made, width: '9.5rem', cell: ({ createdAt }) => <Time value={createdAt} form="ago" /> },
    {
      title: texts.lastUsed,
      width: '9.5rem',
      cell: ({ lastUsedAt }) => (lastUsedAt === null ? texts.never : <Time value={lastUsedAt} form="ago" />),
    },
    { title: texts.actions, width: '5rem', cell: actions },
  ];
}

function KeyActions<Key extends ListedKey>({
  keyView,
  may,
  onOpen,
}: {
  readonly keyView: Key;
  readonly may: { readonly mint: boolean; readonly revoke: boolean };
  readonly onOpen: (what: 'rotate' | 'leaked' | 'revoke') => void;
}): ReactNode {
  if (!isValid(keyView)) return null;
  return (
    <RowMenu
      label={texts.actionsOf(quoted(keyView.label))}
      actions={[
        ...(may.mint
          ? [
              { title: texts.rotate, onClick: () => onOpen('rotate') },
              { title: texts.itLeaked, tone: 'danger' as const, onClick: () => onOpen('leaked') },
            ]
          : []),
        ...(may.revoke ? [{ title: texts.revoke, tone: 'danger' as const, onClick: () => onOpen('revoke') }] : []),
      ]}
    />
  );
}

function Dialog<Key extends ListedKey, Minted extends NewKey>({
  open,
  onOpen,
  page,
  dialog,
  curlOf,
  reachOf,
  revoke,
  revokedText,
}: KeysPanelProps<Key, Minted> & {
  readonly open: Open<Key, Minted>;
  readonly onOpen: (next: Open<Key, Minted> | undefined) => void;
}): ReactNode {
  const queries = useQueryClient();
  const reload = (): void => void queries.invalidateQueries({ queryKey: page({}).queryKey.slice(0, 2) });
  const close = (): void => onOpen(undefined);
  if (open.what === 'shown') {
    const { label, rawKey } = open.minted;
    const reach = reachOf?.(open.minted);
    return (
      <KeyShown
        label={label}
        rawKey={rawKey}
        curl={curlOf(open.minted)}
        {...(reach !== undefined && { reach })}
        onClose={close}
      />
    );
  }
  if (open.what !== 'revoke') {
    return dialog({
      replaced: open.what === 'mint' ? undefined : open.key,
      isLeaked: open.what === 'leaked',
      onClose: close,
      onMinted(minted) {
        onOpen({ what: 'shown', minted });
        reload();
      },
    });
  }
  const { key } = open;
  return (
    <ConfirmDialog
      title={texts.revokeNamed(quoted(key.label))}
      action={texts.revokeTheKey}
      tone="danger"
      run={() => revoke(key)}
      onDone={() => {
        close();
        reload();
      }}
      onClose={close}
    >
      <Text size="sm" className="wrap">
        <code>{key.keyPrefix}…</code>: {revokedText}
      </Text>
    </ConfirmDialog>
  );
}
