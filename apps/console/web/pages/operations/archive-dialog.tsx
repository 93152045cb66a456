import { useEffect, useRef, useState, type ReactNode } from 'react';
import { NumberInput, Progress, SegmentedControl, Text, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import type { Schemas } from '@sealgate/client';
import { dataOf } from '../../shell/console-fetch.ts';
import { ProblemError } from '../../shell/problem.ts';
import { formatNumber } from '../../shell/formats.ts';
import { isolated } from '../../shell/quoted.ts';
import { FormDialog } from '../form-dialog.tsx';
import { ledgerBy, type LedgerSurface } from '../ledger/ledger-source.ts';

type Moved = Schemas['ingestGatewayAdmin']['ArchiveProgress'];
type Order = { readonly before: number } | { readonly olderThanDays: number };

interface ArchiveProps {
  readonly surface: LedgerSurface;
  readonly channel: string;
  readonly size: number;
  readonly onClose: () => void;
}

const WORDS = {
  olderThanDays: { label: 'Days', description: 'Records that are older are moved.', max: 36_500 },
  before: { label: 'First index to keep', description: 'Records before it are moved.', max: Number.MAX_SAFE_INTEGER },
};

/** Repeats the request until the service has moved all, some seconds each. Throws ProblemError if it moves no more. */
async function archiveAll(
  { surface, channel }: ArchiveProps,
  order: Order,
  { signal, onMoved }: { readonly signal: AbortSignal; readonly onMoved: (moved: Moved) => void },
): Promise<Moved> {
  for (let before = -1; ;) {
    const moved = await dataOf(
      ledgerBy(surface).POST('/admin/v1/ledger/channels/{channel}/archive', {
        params: { path: { channel } },
        body: order,
        signal,
      }),
    );
    onMoved(moved);
    if (moved.archived >= moved.until) return moved;
    if (moved.archived <= before) throw stuck(moved);
    before = moved.archived;
  }
}

const stuck = ({ archived }: Moved): ProblemError =>
  new ProblemError({
    title: 'The archive makes no progress',
    status: 0,
    code: 'NO_PROGRESS',
    detail: `It stopped at record ${formatNumber(archived)}. What was moved stays moved; ask again later.`,
  });

/** Archives until all is moved; leaving the dialog stops it after the step under way. */
function useArchiving(props: ArchiveProps) {
  const [moved, setMoved] = useState<Moved>();
  const leaving = useRef(new AbortController());
  useEffect(() => () => leaving.current.abort(), []);
  const archive = useMutation({
    mutationFn: (order: Order) => {
      leaving.current = new AbortController();
      return archiveAll(props, order, { signal: leaving.current.signal, onMoved: setMoved });
    },
  });
  return { archive, moved };
}

/** Moves the oldest records of a channel to the archive. */
export function ArchiveDialog(props: ArchiveProps): ReactNode {
  const { channel, size, onClose } = props;
  const [by, setBy] = useState<keyof typeof WORDS>('olderThanDays');
  const [amount, setAmount] = useState<number | string>('');
  const [word, setWord] = useState('');
  const { archive, moved } = useArchiving(props);
  const { label, description, max } = WORDS[by];
  const least = by === 'before' ? 0 : 1;
  const isAmount =
    amount !== '' && Number.isInteger(Number(amount)) && Number(amount) >= least && Number(amount) <= max;
  if (archive.isSuccess)
    return (
      <FormDialog title="Archived" action="Close" doing={archive} onSubmit={onClose} onClose={onClose}>
        <Done moved={archive.data} />
      </FormDialog>
    );
  return (
    <FormDialog
      title="Archive records"
      action="Archive"
      tone="danger"
      doing={archive}
      isReady={isAmount && word.trim() === channel}
      onSubmit={() => archive.mutate(by === 'before' ? { before: Number(amount) } : { olderThanDays: Number(amount) })}
      onClose={onClose}
    >
      <Text size="sm">
        The oldest of {formatNumber(size)} records leave the database for the archive files. Only whole tiles of 256
        signed records are moved, and none comes back. The files must be kept: without them the records cannot be read.
      </Text>
      <SegmentedControl
        aria-label="Which records"
        data={[
          { value: 'olderThanDays', label: 'By age' },
          { value: 'before', label: 'By index' },
        ]}
        value={by}
        onChange={(value) => {
          setBy(value);
          setAmount('');
        }}
      />
      <NumberInput
        label={label}
        description={description}
        required
        min={least}
        max={max}
        allowDecimal={false}
        value={amount}
        onChange={setAmount}
      />
      <TextInput
        label={`Type ${isolated(channel)} to confirm`}
        value={word}
        autoComplete="off"
        onChange={(event) => setWord(event.currentTarget.value)}
      />
      <div role="status">{archive.isPending && <Moving moved={moved} />}</div>
    </FormDialog>
  );
}

const Moving = ({ moved }: { readonly moved: Moved | undefined }): ReactNode => (
  <>
    <Text size="sm">
      {moved === undefined
        ? 'Moving records …'
        : `${formatNumber(moved.archived)} of ${formatNumber(moved.until)} records are archived.`}
    </Text>
    <Progress
      value={moved === undefined || moved.until === 0 ? 0 : (100 * moved.archived) / moved.until}
      aria-label="Records archived"
      animated
    />
  </>
);

const Done = ({ moved: { archived, until } }: { readonly moved: Moved }): ReactNode => (
  <Text size="sm" role="status">
    {until === 0
      ? 'Nothing was moved: fewer than 256 signed records match.'
      : `Records 0 to ${formatNumber(archived - 1)} are in the archive.`}
  </Text>
);
