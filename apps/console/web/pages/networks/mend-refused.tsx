import type { ReactNode } from 'react';
import { Button, Group, Paper, Stack, Text, Title } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { Link } from 'react-router';
import { api, useReload } from '../../shell/api.ts';
import { formatSpan } from '../../shell/formats.ts';
import { ProblemView } from '../../shell/problem-view.tsx';
import { Time } from '../../shell/time.tsx';
import * as texts from './delivery-texts.ts';
import { Tolerate } from './raised-tolerance.tsx';
import { actsFor, titleOf, wordsOf, type Acts, type Refused } from './refusal-words.ts';
import { useSourceDialogs } from './source-dialogs.tsx';
import type { Source } from './source-presets.ts';

interface MendProps {
  readonly refused: Refused;
  readonly source: Source;
}

/** Why a delivery was refused, and the acts that can mend it, for whoever may change its source. */
export function MendRefused({ refused, source, mayChange }: MendProps & { readonly mayChange: boolean }): ReactNode {
  const words = wordsOf(refused.reason);
  return (
    <Paper component="section" aria-label={texts.whyItWasRefused}>
      <Stack gap="xs">
        <Title order={2}>{texts.whyItWasRefused}</Title>
        <Text size="sm">
          {words?.what(refused) ?? refused.detail}{' '}
          {refused.reason === 'clock-skew' && texts.thisSourceTolerates(formatSpan(source.toleranceSeconds))}
        </Text>
        {refused.processedAt !== null && (
          <Text size="sm">
            {texts.processedAgainAndRefused(<Time value={refused.processedAt} />, titleOf(null, refused.outcome))}
          </Text>
        )}
        {words !== undefined && <Text size="sm">{words.todo}</Text>}
        {mayChange && <ActsOf refused={refused} source={source} />}
      </Stack>
    </Paper>
  );
}

/** What is to be said beside the acts; undefined for nothing. */
function adviceOf(
  { edit, secrets, tolerate, again }: Acts,
  { keptUntil, reason }: Refused,
  lacksSecret: boolean,
): string | undefined {
  if (keptUntil === null) return texts.nothingIsKeptSoRepeat;
  if (again && !lacksSecret) return texts.nowProcessItAgain;
  if (reason === 'clock-skew' && tolerate === undefined && !edit) return texts.noSourceToleratesThatMuch;
  return edit || secrets ? texts.onceThatIsChanged : undefined;
}

/** Whether it is for its secret alone that it is refused, and none was added since. */
function needsSecret({ secrets, edit }: Acts, { at, processedAt }: Refused, source: Source): boolean {
  const since = Date.parse(processedAt ?? at);
  return secrets && !edit && source.secrets.every(({ createdAt }) => Date.parse(createdAt) <= since);
}

function ActsOf({ refused, source }: MendProps): ReactNode {
  const { open, dialog } = useSourceDialogs();
  const acts = actsFor(refused, source);
  const lacksSecret = needsSecret(acts, refused, source);
  const advice = adviceOf(acts, refused, lacksSecret);
  return (
    <>
      {advice !== undefined && (
        <Text size="sm" fw={acts.again && !lacksSecret ? 600 : 400} role="status">
          {advice}
        </Text>
      )}
      <Group gap="xs">
        {acts.again && !lacksSecret && <ProcessAgain refused={refused} source={source} />}
        {acts.tolerate !== undefined && <Tolerate source={source} needed={acts.tolerate} />}
        {acts.edit && (
          <Button size="xs" variant="default" onClick={() => open('edit', source)}>
            {texts.editTheSource}
          </Button>
        )}
        {acts.secrets && (
          <Button size="xs" variant={lacksSecret ? 'filled' : 'default'} onClick={() => open('secrets', source)}>
            {texts.secrets}
          </Button>
        )}
        {acts.again && lacksSecret && <ProcessAgain refused={refused} source={source} variant="default" />}
        {acts.limits && (
          <Button size="xs" variant="default" component={Link} to={`/networks/${source.networkId}`}>
            {texts.limitsOfTheNetwork}
          </Button>
        )}
      </Group>
      {dialog}
    </>
  );
}

/** Every check is made anew with the settings as they are now. */
function ProcessAgain({
  refused: { refusedId },
  source: { networkId, sourceId },
  variant = 'filled',
}: MendProps & { readonly variant?: 'filled' | 'default' }): ReactNode {
  const reload = useReload();
  const processing = api.useMutation(
    'post',
    '/admin/ingest-gateway/admin/v1/networks/{networkId}/sources/{sourceId}/refused/{refusedId}/process',
    {
      onSuccess({ code, outcome }) {
        void reload('/admin/ingest-gateway/');
        notifications.show(
          code === null
            ? {
                color: 'green',
                title: texts.theDeliveryWas(outcome ?? 'answered'),
                message: texts.itsRecordIsLinkedBelow,
              }
            : { color: 'red', title: texts.itIsRefusedAgain, message: texts.itIsRefusedAgainMessage(code) },
        );
      },
    },
  );
  return (
    <>
      <Button
        size="xs"
        variant={variant}
        loading={processing.isPending}
        // The second click of a double click comes before, or after, the button is disabled.
        onClick={({ detail }) => {
          if (detail < 2) processing.mutate({ params: { path: { networkId, sourceId, refusedId } }, body: {} });
        }}
      >
        {texts.processAgain}
      </Button>
      {processing.isError && <ProblemView error={processing.error} />}
    </>
  );
}
