import { useState, type ReactNode } from 'react';
import { Alert, Button, Group, Text } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { dataOf } from '../../shell/console-fetch.ts';
import { formatSpan } from '../../shell/formats.ts';
import { ProblemView } from '../../shell/problem-view.tsx';
import { quoted } from '../../shell/quoted.ts';
import { ingestAdmin } from '../../shell/surfaces.ts';
import { ConfirmDialog } from '../confirm-dialog.tsx';
import type { Source } from './source-presets.ts';

interface Tolerance {
  readonly toleranceSeconds: number;
  readonly usualToleranceSeconds?: number;
}

/** Sets the tolerance of a source, and shows the source as it is then. */
function useSetTolerance({ networkId, sourceId }: Source): (tolerance: Tolerance) => Promise<void> {
  const queries = useQueryClient();
  return async (tolerance) => {
    const params = { path: { networkId, sourceId } };
    const changed = await dataOf(
      ingestAdmin.PATCH('/admin/v1/networks/{networkId}/sources/{sourceId}', { params, body: tolerance }),
    );
    queries.setQueryData(['source', sourceId], changed);
    void queries.invalidateQueries({ queryKey: ['sources'] });
  };
}

interface TolerateProps {
  readonly source: Source;
  /** In seconds. */
  readonly needed: number;
}

/** Raises the tolerance of a source for a while; what it was stays known, so that it can be set back. */
export function Tolerate({ source, needed }: TolerateProps): ReactNode {
  const [isOpen, setOpen] = useState(false);
  const setTolerance = useSetTolerance(source);
  const usual = source.usualToleranceSeconds ?? source.toleranceSeconds;
  const close = (): void => setOpen(false);
  return (
    <>
      <Button size="xs" onClick={() => setOpen(true)}>
        Tolerate {formatSpan(needed)} for a while
      </Button>
      {isOpen && (
        <ConfirmDialog
          title={`Tolerate ${formatSpan(needed)} at ${quoted(source.name)}`}
          action="Raise the tolerance"
          run={() => setTolerance({ toleranceSeconds: needed, usualToleranceSeconds: usual })}
          onDone={close}
          onClose={close}
        >
          <Text size="sm">
            Until it is set back to {formatSpan(usual)}, every delivery of this source may have a timestamp up to{' '}
            {formatSpan(needed)} off; its signature is checked as before. Then process this one again, and set the
            tolerance back.
          </Text>
        </ConfirmDialog>
      )}
    </>
  );
}

/** Says of a source that its tolerance is raised, and sets it back. */
export function RaisedTolerance({
  source,
  mayChange,
}: {
  readonly source: Source;
  readonly mayChange: boolean;
}): ReactNode {
  const { toleranceSeconds, usualToleranceSeconds: usual } = source;
  const setTolerance = useSetTolerance(source);
  const back = useMutation({ mutationFn: (seconds: number) => setTolerance({ toleranceSeconds: seconds }) });
  if (usual === null) return null;
  return (
    <Alert color="yellow" title="The clock tolerance of this source is raised" role="note">
      <Group gap="sm">
        <Text size="sm">
          It accepts timestamps up to {formatSpan(toleranceSeconds)} off; usually {formatSpan(usual)}.
        </Text>
        {mayChange && (
          <Button size="xs" variant="default" loading={back.isPending} onClick={() => back.mutate(usual)}>
            Set it back to {formatSpan(usual)}
          </Button>
        )}
      </Group>
      {back.isError && <ProblemView error={back.error} />}
    </Alert>
  );
}
