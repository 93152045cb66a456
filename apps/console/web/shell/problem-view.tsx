import { useEffect, useState, type ReactNode } from 'react';
import { Alert, Button, Group, List, Stack, Text } from '@mantine/core';
import { CodeText } from './code-text.tsx';
import { asProblem, type ProblemError } from './problem.ts';
import * as texts from './texts.ts';

/** Advice by status; title and detail come from the service. */
const advice: Readonly<Record<number, string>> = {
  401: texts.advice401,
  403: texts.advice403,
  412: texts.advice412,
  429: texts.advice429,
  502: texts.advice502,
  503: texts.advice503,
  504: texts.advice504,
};

function useSecondsUntil(timeMs: number | undefined): number {
  const [left, setLeft] = useState(() => secondsUntil(timeMs));
  useEffect(() => {
    setLeft(secondsUntil(timeMs));
    if (timeMs === undefined) return undefined;
    const timer = setInterval(() => setLeft(secondsUntil(timeMs)), 500);
    return () => clearInterval(timer);
  }, [timeMs]);
  return left;
}

const secondsUntil = (timeMs: number | undefined): number =>
  timeMs === undefined ? 0 : Math.max(0, Math.ceil((timeMs - Date.now()) / 1_000));

interface ProblemProps {
  readonly error: unknown;
  /** Shown as "Try again", disabled while the service asks to wait. */
  readonly onRetry?: (() => void) | undefined;
  /** An additional action, such as "Load the new version" for a 412. */
  readonly children?: ReactNode;
}

/** Shows a problem: title, detail, faults by member, advice, and code and request id with copy buttons. */
export function ProblemView({ error, onRetry, children }: ProblemProps): ReactNode {
  const problem = asProblem(error);
  const left = useSecondsUntil(problem.retryAtMs);
  const { title, detail, errors = [], status } = problem.problem;
  return (
    <Alert role="alert" color={status === 429 || status === 503 ? 'yellow' : 'red'} variant="light" title={title}>
      <Stack gap="xs">
        {detail !== undefined && (
          <Text size="sm" className="wrap">
            {detail}
          </Text>
        )}
        {errors.length > 0 && (
          <List size="sm">
            {errors.slice(0, 20).map((fault) => (
              <List.Item key={`${fault.in} ${fault.pointer ?? ''} ${fault.detail}`} className="wrap">
                <code>{fault.pointer || fault.in}</code>: {fault.detail}
              </List.Item>
            ))}
          </List>
        )}
        {advice[status] !== undefined && <Text size="sm">{advice[status]}</Text>}
        <ProblemFacts problem={problem} />
        {(onRetry !== undefined || children !== undefined) && (
          <Group gap="xs">
            {onRetry !== undefined && (
              <Button size="xs" variant="default" onClick={onRetry} disabled={left > 0}>
                {left > 0 ? texts.tryAgainIn(left) : texts.tryAgain}
              </Button>
            )}
            {children}
          </Group>
        )}
      </Stack>
    </Alert>
  );
}

function ProblemFacts({ problem }: { problem: ProblemError }): ReactNode {
  return (
    <Group gap="md" wrap="wrap">
      <Text size="sm" component="span">
        {texts.code(<CodeText value={problem.problem.code} label={texts.copyTheCode} />)}
      </Text>
      {problem.requestId !== undefined && (
        <Text size="sm" component="span">
          {texts.request(<CodeText value={problem.requestId} label={texts.copyTheRequestId} />)}
        </Text>
      )}
    </Group>
  );
}
