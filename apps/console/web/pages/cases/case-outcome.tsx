import { useEffect, useRef, useState, type ReactNode, type RefObject } from 'react';
import { Anchor, Button, Group, Paper, Text } from '@mantine/core';
import { Link } from 'react-router';
import { server } from '../../shell/api.ts';
import { Time } from '../../shell/time.tsx';
import { ConfirmDialog } from '../confirm-dialog.tsx';
import type { CaseDetail } from './case-api.ts';
import { wordOf } from './case-words.tsx';
import { useEnvironment } from './environment.tsx';

interface Focus {
  readonly panel: RefObject<HTMLElement | null>;
  /** The next outcome of the case gets the focus, and is scrolled to. */
  readonly onOutcome: () => void;
}

const stateOf = (found: CaseDetail | undefined): string => `${found?.decision_id} ${found?.status}`;

/** Moves the focus to the outcome once it is another than the one that was acted on. */
export function useFocusOnOutcome(found: CaseDetail | undefined): Focus {
  const panel = useRef<HTMLElement>(null);
  const [actedOn, setActedOn] = useState<string>();
  const state = stateOf(found);
  useEffect(() => {
    if (actedOn === undefined || actedOn === state) return;
    setActedOn(undefined);
    panel.current?.focus({ preventScroll: true });
    panel.current?.scrollIntoView({ block: 'center' });
  }, [actedOn, state]);
  return { panel, onOutcome: () => setActedOn(state) };
}

interface OutcomeProps {
  readonly found: CaseDetail;
  readonly focus: Focus;
}

/** What was decided, and the next act: to seal it. Nothing before a decision. */
export function CaseOutcome({ found, focus }: OutcomeProps): ReactNode {
  const { may } = useEnvironment();
  const { decision, policy_version: version, status, sealed_at: sealedAt } = found;
  if (decision === null || !['decided', 'sealing', 'sealed'].includes(status)) return null;
  return (
    <Paper
      ref={focus.panel}
      tabIndex={-1}
      component="section"
      aria-label="Outcome"
      bg={`var(--console-${status === 'sealed' ? 'good' : 'wait'}-soft)`}
    >
      <Text fw={700} mb={4}>
        Decided: {wordOf(decision)}
      </Text>
      <Group justify="space-between" gap="sm">
        <Text size="sm" component="div" flex="1 1 18rem">
          {status === 'decided' && NEXT[decision === 'approve' ? 'approve' : 'decline']}
          {status === 'sealing' &&
            'The ledger is being asked to keep it. This goes on by itself, or is asked again here.'}
          {sealedAt !== null && (
            <>
              Under {version}, sealed <Time value={sealedAt} />: it is in the ledger, and the gate acts by it.
            </>
          )}
        </Text>
        {status === 'sealed' ? <ToQueue /> : may('cases:review') && <Seal found={found} onSealed={focus.onOutcome} />}
      </Group>
    </Paper>
  );
}

const NEXT = {
  approve: 'It is not sealed yet. The gate lets nobody in by it until it is in the ledger.',
  decline: 'The gate denies by it already. It is not sealed yet: the ledger does not have it.',
} as const;

function ToQueue(): ReactNode {
  const { to } = useEnvironment();
  return (
    <Anchor component={Link} to={to('queue')} size="sm">
      To the next case in the queue
    </Anchor>
  );
}

function Seal({ found, onSealed }: { readonly found: CaseDetail; readonly onSealed: () => void }): ReactNode {
  const { name: environment, reload } = useEnvironment();
  const [isAsked, setAsked] = useState(false);
  return (
    <>
      <Button onClick={() => setAsked(true)}>Seal</Button>
      {isAsked && (
        <ConfirmDialog
          title="Seal this decision?"
          action="Seal"
          run={() =>
            server.POST('/admin/case-gate/admin/v1/cases/{case_id}/seal', {
              params: { path: { case_id: found.case_id }, query: { environment } },
              body: { policy_version: found.policy_version! },
            })
          }
          onClose={() => setAsked(false)}
          onDone={() => {
            setAsked(false);
            onSealed();
            reload();
          }}
        >
          <Text size="sm">
            The decision under {found.policy_version} is written to the ledger, once. An approval counts at the gate
            from then on.
          </Text>
        </ConfirmDialog>
      )}
    </>
  );
}
