import { useEffect, useRef, useState, type ReactNode } from 'react';
import { NumberInput, Progress, SegmentedControl, Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation } from '@tanstack/react-query';
import type { Schemas } from '@sealgate/client';
import { server } from '../../shell/api.ts';
import { ProblemError } from '../../shell/problem.ts';
import { formatNumber } from '../../shell/formats.ts';
import { isolated } from '../../shell/quoted.ts';
import { FormDialog } from '../form-dialog.tsx';
import { ledgerOf, type LedgerSurface } from '../ledger/ledger-source.ts';
import * as texts from './texts.ts';

type Moved = Schemas['ingestGatewayAdmin']['ArchiveProgress'];
type Order = { readonly before: number } | { readonly olderThanDays: number };

interface ArchiveProps {
  readonly surface: LedgerSurface;
  readonly channel: string;
  readonly size: number;
  readonly onClose: () => void;
}

const WORDS = {
  olderThanDays: { label: texts.days, description: texts.daysHint, min: 1, max: 36_500 },
  before: {
    label: texts.firstIndexToKeep,
    description: texts.firstIndexToKeepHint,
    min: 0,
    max: Number.MAX_SAFE_INTEGER,
  },
};

interface Draft {
  readonly by: keyof typeof WORDS;
  readonly amount: number | string;
  readonly typed: string;
}

function faultOfAmount(amount: number | string, { by }: Draft): string | null {
  const isRight = amount !== '' && Number.isInteger(Number(amount));
  return isRight && Number(amount) >= WORDS[by].min && Number(amount) <= WORDS[by].max ? null : texts.aWholeNumber;
}

/** Repeats the request until the service has moved all, some seconds each. Throws ProblemError if it moves no more. */
async function archiveAll(
  { surface, channel }: ArchiveProps,
  order: Order,
  { signal, onMoved }: { readonly signal: AbortSignal; readonly onMoved: (moved: Moved) => void },
): Promise<Moved> {
  for (let before = -1; ;) {
    const { data } = await server.POST(`${ledgerOf(surface)}/channels/{channel}/archive`, {
      params: { path: { channel } },
      body: order,
      signal,
    });
    const moved = data!;
    onMoved(moved);
    if (moved.archived >= moved.until) return moved;
    if (moved.archived <= before) throw stuck(moved);
    before = moved.archived;
  }
}

const stuck = ({ archived }: Moved): ProblemError =>
  new ProblemError({
    title: texts.theArchiveMakesNoProgress,
    status: 0,
    code: 'NO_PROGRESS',
    detail: texts.stoppedAtRecord(formatNumber(archived)),
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
  const { archive, moved } = useArchiving(props);
  const form = useForm<Draft>({
    initialValues: { by: 'olderThanDays', amount: '', typed: '' },
    validate: { amount: faultOfAmount },
  });
  const { by, typed } = form.values;
  const { label, description, min, max } = WORDS[by];
  if (archive.isSuccess)
    return (
      <FormDialog title={texts.archived} action={texts.close} doing={archive} onSubmit={onClose} onClose={onClose}>
        <Done moved={archive.data} />
      </FormDialog>
    );
  return (
    <FormDialog
      title={texts.archiveRecords}
      action={texts.archive}
      tone="danger"
      doing={archive}
      form={form}
      isReady={typed.trim() === channel}
      onSubmit={({ amount }) =>
        archive.mutate(by === 'before' ? { before: Number(amount) } : { olderThanDays: Number(amount) })
      }
      onClose={onClose}
    >
      <Text size="sm">{texts.archiveHint(formatNumber(size))}</Text>
      <SegmentedControl
        aria-label={texts.whichRecords}
        data={[
          { value: 'olderThanDays', label: texts.byAge },
          { value: 'before', label: texts.byIndex },
        ]}
        value={by}
        onChange={(value) => form.setValues({ by: value, amount: '' })}
      />
      <NumberInput
        label={label}
        description={description}
        required
        min={min}
        max={max}
        allowDecimal={false}
        {...form.getInputProps('amount')}
      />
      <TextInput label={texts.typeToConfirm(isolated(channel))} autoComplete="off" {...form.getInputProps('typed')} />
      <div role="status">{archive.isPending && <Moving moved={moved} />}</div>
    </FormDialog>
  );
}

const Moving = ({ moved }: { readonly moved: Moved | undefined }): ReactNode => (
  <>
    <Text size="sm">
      {moved === undefined
        ? texts.movingRecords
        : texts.recordsArchivedOf(formatNumber(moved.archived), formatNumber(moved.until))}
    </Text>
    <Progress
      value={moved === undefined || moved.until === 0 ? 0 : (100 * moved.archived) / moved.until}
      aria-label={texts.recordsArchived}
      animated
    />
  </>
);

const Done = ({ moved: { archived, until } }: { readonly moved: Moved }): ReactNode => (
  <Text size="sm" role="status">
    {until === 0 ? texts.nothingToArchive : texts.recordsInTheArchive(formatNumber(archived - 1))}
  </Text>
);
