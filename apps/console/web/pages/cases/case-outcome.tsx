import { useEffect, useRef, useState, type ReactNode, type RefObject } from 'react';
import { Anchor, Button, Group, Paper, Text } from '@mantine/core';
import { Link } from 'react-router';
import { server } from '../../shell/api.ts';
import { Time } from '../../shell/time.tsx';
import { ConfirmDialog } from '../confirm-dialog.tsx';
import type { CaseDetail } from './case-api.ts';
import * as texts from './case-texts.ts';
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
      aria-label={texts.outcome}
      bg={`var(--console-${status === 'sealed' ? 'good' : 'wait'}-soft)`}
    >
      <Text fw={700} mb={4}>
        {texts.decidedAs(wordOf(decision))}
      </Text>
      <Group justify="space-between" gap="sm">
        <Text size="sm" component="div" flex="1 1 18rem">
          {status === 'decided' && NEXT[decision === 'approve' ? 'approve' : 'decline']}
          {status === 'sealing' && texts.sealingHint}
          {sealedAt !== null && texts.sealedUnder(version, <Time value={sealedAt} />)}
        </Text>
        {status === 'sealed' ? <ToQueue /> : may('cases:review') && <Seal found={found} onSealed={focus.onOutcome} />}
      </Group>
    </Paper>
  );
}

const NEXT = {
  approve: texts.approvedNotSealed,
  decline: texts.declinedNotSealed,
} as const;

function ToQueue(): ReactNode {
  const { to } = useEnvironment();
  return (
    <Anchor component={Link} to={to('queue')} size="sm">
      {texts.toTheNextCaseInTheQueue}
    </Anchor>
  );
}

function Seal({ found, onSealed }: { readonly found: CaseDetail; readonly onSealed: () => void }): ReactNode {
  const { name: environment, reload } = useEnvironment();
  const [isAsked, setAsked] = useState(false);
  return (
    <>
      <Button onClick={() => setAsked(true)}>{texts.seal}</Button>
      {isAsked && (
        <ConfirmDialog
          title={texts.sealThisDecision}
          action={texts.seal}
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
          <Text size="sm">{texts.sealThisDecisionHint(found.policy_version)}</Text>
        </ConfirmDialog>
      )}
    </>
  );
}
