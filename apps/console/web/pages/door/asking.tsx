import { Button, Group, Text, TextInput, Title } from '@mantine/core';
import { useCallback, useEffect, useRef, useState, type ReactNode } from 'react';
import { askGate } from './ask-gate.ts';
import { cameraFault } from './code-reader.ts';
import { CodeScanner } from './code-scanner.tsx';
import classes from './door.module.css';
import { deny, subjectIn } from './judge-answer.ts';
import type { Post } from './test-post.ts';
import * as texts from './texts.ts';
import { useAwake, useKiosk } from './use-kiosk.ts';
import { SHOWN_SECONDS, VerdictPanel, type Shown } from './verdict-panel.tsx';

/** Sends one request at a time; a late response to an older request is never shown. */
function useQuestions({ key, venueId }: Post) {
  const [shown, setShown] = useState<Shown>({ state: 'ready' });
  const newest = useRef(0);
  const clear = useCallback(() => {
    newest.current += 1;
    setShown({ state: 'ready' });
  }, []);
  const ask = useCallback(
    async (text: string) => {
      newest.current += 1;
      const mine = newest.current;
      const about = text.trim();
      const subjectRef = subjectIn(text);
      if (subjectRef === undefined) return setShown({ state: 'told', about, verdict: deny('NOT_A_SUBJECT') });
      setShown({ state: 'asking', about: subjectRef });
      const ports = { fetch: window.fetch.bind(window), elapsed: () => performance.now() };
      const verdict = await askGate(ports, key, { subjectRef, venueId });
      if (newest.current === mine) setShown({ state: 'told', about: subjectRef, verdict });
    },
    [key, venueId],
  );
  useEffect(() => {
    if (shown.state !== 'told') return undefined;
    const timer = setTimeout(clear, 1_000 * SHOWN_SECONDS);
    document.addEventListener('visibilitychange', clear);
    return () => {
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', clear);
    };
  }, [shown, clear]);
  return { shown, ask, clear };
}

/**
 * Keeps the field ready for a scanner, which types into whatever has the focus. A pressed button takes the focus, and
 * one that disappears loses it to the page: then the next scan would go nowhere.
 */
function useReadyField(changes: readonly [state: string, isScanning: boolean]) {
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const toField = (event: KeyboardEvent) => {
      const isCharacter = event.key.length === 1 && !event.ctrlKey && !event.metaKey && !event.altKey;
      // A space presses the focused button; no code begins with one.
      if (isCharacter && event.key !== ' ') field.current?.focus();
    };
    window.addEventListener('keydown', toField, true);
    return () => window.removeEventListener('keydown', toField, true);
  }, []);
  useEffect(() => {
    if (document.activeElement === null || document.activeElement === document.body) field.current?.focus();
  }, changes);
  return field;
}

/** The door at work. `onLeave` forgets its settings. */
export function Asking({ post, onLeave }: { readonly post: Post; readonly onLeave: () => void }): ReactNode {
  const { shown, ask, clear } = useQuestions(post);
  const [text, setText] = useState('');
  const [isScanning, setScanning] = useState(false);
  const input = useReadyField([shown.state, isScanning]);
  useAwake();
  const submit = (subject: string) => {
    setScanning(false);
    setText('');
    void ask(subject);
    input.current?.focus();
  };
  const next = () => {
    clear();
    input.current?.focus();
  };
  const stopScanning = () => {
    setScanning(false);
    input.current?.focus();
  };
  const type = (typed: string) => {
    if (shown.state === 'told') clear();
    setText(typed);
  };
  return (
    <>
      <div className={classes['side']}>
        <Bar venueId={post.venueId} onLeave={onLeave} />
        <form
          className={classes['ask']}
          autoComplete="off"
          onSubmit={(event) => {
            event.preventDefault();
            if (text.trim() !== '') submit(text);
          }}
        >
          <TextInput
            ref={input}
            label={texts.subject}
            placeholder={texts.subjectExample}
            size="xl"
            value={text}
            maxLength={2048}
            autoFocus
            autoCapitalize="none"
            autoCorrect="off"
            spellCheck={false}
            enterKeyHint="go"
            onChange={(event) => type(event.currentTarget.value)}
          />
          <AskButtons
            isScanning={isScanning}
            onScan={() => {
              clear();
              setScanning(true);
            }}
            onStop={stopScanning}
          />
        </form>
        {isScanning && <CodeScanner onCode={submit} onFail={stopScanning} />}
      </div>
      <VerdictPanel shown={shown} onNext={next} />
    </>
  );
}

function Bar({ venueId, onLeave }: { readonly venueId: string; readonly onLeave: () => void }): ReactNode {
  const kiosk = useKiosk();
  return (
    <header className={classes['bar']}>
      <Title order={1} size="h3" className="wrap">
        {texts.doorOf(venueId)}
      </Title>
      <Group gap="xs">
        <Button variant="default" onClick={() => kiosk.set(!kiosk.isOn)}>
          {kiosk.isOn ? texts.showTheMenu : texts.fullScreen}
        </Button>
        <Button variant="default" onClick={onLeave}>
          {texts.forgetTheKey}
        </Button>
      </Group>
    </header>
  );
}

function AskButtons({
  isScanning,
  onScan,
  onStop,
}: {
  readonly isScanning: boolean;
  readonly onScan: () => void;
  readonly onStop: () => void;
}): ReactNode {
  const fault = cameraFault();
  return (
    <>
      <div className={classes['buttons']}>
        <Button type="submit" size="xl">
          {texts.check}
        </Button>
        {fault === undefined && (
          <Button variant="default" size="xl" aria-expanded={isScanning} onClick={isScanning ? onStop : onScan}>
            {isScanning ? texts.stopTheCamera : texts.scanACode}
          </Button>
        )}
      </div>
      {fault !== undefined && (
        <Text size="sm" c="dimmed">
          {texts.aScannerThatTypesWorksEverywhere(fault)}
        </Text>
      )}
    </>
  );
}
