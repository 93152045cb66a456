import { useState, type ReactNode } from 'react';
import { Alert, Button, Group, Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { api, server, useReload } from '../../shell/api.ts';
import { formatSpan } from '../../shell/formats.ts';
import { ProblemView } from '../../shell/problem-view.tsx';
import { quoted } from '../../shell/quoted.ts';
import { ConfirmDialog } from '../confirm-dialog.tsx';
import { sourceQuery, type Source } from './source-presets.ts';

/** Shows the source as a change left it. */
function useChanged(): (changed: Source) => void {
  const queries = useQueryClient();
  const reload = useReload();
  return (changed) => {
    queries.setQueryData(sourceQuery(changed).queryKey, changed);
    void reload('/admin/ingest-gateway/admin/v1/networks');
  };
}

const paramsOf = ({ networkId, sourceId }: Source) => ({ path: { networkId, sourceId } });

interface TolerateProps {
  readonly source: Source;
  /** In seconds. */
  readonly needed: number;
}

/** Raises the tolerance of a source for a while; what it was stays known, so that it can be set back. */
export function Tolerate({ source, needed }: TolerateProps): ReactNode {
  const [isOpen, setOpen] = useState(false);
  const show = useChanged();
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
          run={async () => {
            const { data } = await server.PATCH(
              '/admin/ingest-gateway/admin/v1/networks/{networkId}/sources/{sourceId}',
              {
                params: paramsOf(source),
                body: { toleranceSeconds: needed, usualToleranceSeconds: usual },
              },
            );
            show(data!);
          }}
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
  const back = api.useMutation('patch', '/admin/ingest-gateway/admin/v1/networks/{networkId}/sources/{sourceId}', {
    onSuccess: useChanged(),
  });
  if (usual === null) return null;
  return (
    <Alert color="yellow" title="The clock tolerance of this source is raised" role="note">
      <Group gap="sm">
        <Text size="sm">
          It accepts timestamps up to {formatSpan(toleranceSeconds)} off; usually {formatSpan(usual)}.
        </Text>
        {mayChange && (
          <Button
            size="xs"
            variant="default"
            loading={back.isPending}
            onClick={() => back.mutate({ params: paramsOf(source), body: { toleranceSeconds: usual } })}
          >
            Set it back to {formatSpan(usual)}
          </Button>
        )}
      </Group>
      {back.isError && <ProblemView error={back.error} />}
    </Alert>
  );
}
