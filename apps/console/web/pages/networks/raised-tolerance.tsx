import { useState, type ReactNode } from 'react';
import { Alert, Button, Group, Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { api, server, useReload } from '../../shell/api.ts';
import { formatSpan } from '../../shell/formats.ts';
import { ProblemView } from '../../shell/problem-view.tsx';
import { quoted } from '../../shell/quoted.ts';
import { ConfirmDialog } from '../confirm-dialog.tsx';
import { sourceQuery, type Source } from './source-presets.ts';
import * as texts from './source-texts.ts';

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
        {texts.tolerateForAWhile(formatSpan(needed))}
      </Button>
      {isOpen && (
        <ConfirmDialog
          title={texts.tolerateAt(formatSpan(needed), quoted(source.name))}
          action={texts.raiseTheTolerance}
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
          <Text size="sm">{texts.tolerateHint(formatSpan(usual), formatSpan(needed))}</Text>
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
    <Alert color="yellow" title={texts.toleranceIsRaised} role="note">
      <Group gap="sm">
        <Text size="sm">{texts.toleranceNowAndUsual(formatSpan(toleranceSeconds), formatSpan(usual))}</Text>
        {mayChange && (
          <Button
            size="xs"
            variant="default"
            loading={back.isPending}
            onClick={() => back.mutate({ params: paramsOf(source), body: { toleranceSeconds: usual } })}
          >
            {texts.setItBackTo(formatSpan(usual))}
          </Button>
        )}
      </Group>
      {back.isError && <ProblemView error={back.error} />}
    </Alert>
  );
}
