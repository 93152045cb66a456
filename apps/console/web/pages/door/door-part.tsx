import { Button, Group, PasswordInput, Stack, Text, TextInput, Title } from '@mantine/core';
import { useCallback, useEffect, useRef, useState, type FormEvent, type ReactNode } from 'react';
import { askGate } from './ask-gate.ts';
import { CodeScanner, canScan } from './code-scanner.tsx';
import classes from './door.module.css';
import { deny, subjectIn, type Verdict } from './judge-answer.ts';

/** How long a verdict is shown: short enough that the next person cannot use it. */
const SHOWN_MS = 15_000;

/** The settings of the tablet, only in the memory of this page. */
interface Post {
  readonly key: string;
  readonly venueId: string;
}

/** A page for a tablet at a venue. Uses a gate key, without a sign-in; nothing is stored. */
export function DoorPart(): ReactNode {
  const [post, setPost] = useState<Post>();
  useEffect(() => {
    // A page restored from the back/forward cache would still have the key.
    const forget = (event: PageTransitionEvent) => {
      if (event.persisted) setPost(undefined);
    };
    window.addEventListener('pageshow', forget);
    return () => window.removeEventListener('pageshow', forget);
  }, []);
  return (
    <div className={classes['door']}>
      {post === undefined ? <PostForm onStart={setPost} /> : <Asking post={post} onLeave={() => setPost(undefined)} />}
    </div>
  );
}

function PostForm({ onStart }: { readonly onStart: (post: Post) => void }): ReactNode {
  const [faults, setFaults] = useState<{ key?: string; venue?: string }>({});
  const start = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const key = String(form.get('gate-key')).trim();
    const venueId = String(form.get('venue')).trim();
    const found = {
      ...(/^gk_[A-Za-z0-9_-]{43}$/.test(key) ? {} : { key: 'A gate key starts with gk_ and has 46 characters.' }),
      ...(/^[A-Za-z0-9_-]{1,64}$/.test(venueId) ? {} : { venue: 'Letters, digits, hyphens and underscores only.' }),
    };
    setFaults(found);
    if (Object.keys(found).length === 0) onStart({ key, venueId });
  };
  return (
    <form className={classes['post']} onSubmit={start} autoComplete="off" noValidate>
      <Stack gap="md">
        <Title order={1}>Door</Title>
        <Text>
          This page asks the gate whether somebody may enter. The key stays in the memory of this page: closing or
          reloading it forgets the key.
        </Text>
        <TextInput
          name="venue"
          label="Venue"
          description="The venue id of this tablet."
          size="lg"
          required
          maxLength={64}
          autoCapitalize="none"
          spellCheck={false}
          error={faults.venue}
        />
        <PasswordInput
          name="gate-key"
          label="Gate key"
          description="With the scope gate:check. Typed once."
          size="lg"
          required
          maxLength={100}
          autoComplete="off"
          error={faults.key}
        />
        <Button type="submit" size="lg">
          Open the door page
        </Button>
      </Stack>
    </form>
  );
}

type Shown = { readonly state: 'ready' | 'asking' } | { readonly state: 'told'; readonly verdict: Verdict };

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
      const subjectRef = subjectIn(text);
      if (subjectRef === undefined) return setShown({ state: 'told', verdict: deny('NOT_A_SUBJECT') });
      setShown({ state: 'asking' });
      const ports = { fetch: window.fetch.bind(window), elapsed: () => performance.now() };
      const verdict = await askGate(ports, key, { subjectRef, venueId });
      if (newest.current === mine) setShown({ state: 'told', verdict });
    },
    [key, venueId],
  );
  useEffect(() => {
    if (shown.state !== 'told') return undefined;
    const timer = setTimeout(clear, SHOWN_MS);
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

function Asking({ post, onLeave }: { readonly post: Post; readonly onLeave: () => void }): ReactNode {
  const { shown, ask, clear } = useQuestions(post);
  const [text, setText] = useState('');
  const [isScanning, setScanning] = useState(false);
  const input = useReadyField([shown.state, isScanning]);
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
      <header className={classes['bar']}>
        <Title order={1} size="h3">
          Door of {post.venueId}
        </Title>
        <Button variant="default" onClick={onLeave}>
          Forget the key
        </Button>
      </header>
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
          label="Subject"
          placeholder="subj_…"
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
        <Group grow preventGrowOverflow={false}>
          <Button type="submit" size="xl">
            Check
          </Button>
          {canScan() && (
            <Button
              variant="default"
              size="xl"
              aria-expanded={isScanning}
              onClick={isScanning ? stopScanning : () => setScanning(true)}
            >
              {isScanning ? 'Stop the camera' : 'Scan a code'}
            </Button>
          )}
        </Group>
      </form>
      {isScanning && <CodeScanner onCode={submit} onFail={stopScanning} />}
      <VerdictPanel shown={shown} onNext={next} />
    </>
  );
}

function VerdictPanel({ shown, onNext }: { readonly shown: Shown; readonly onNext: () => void }): ReactNode {
  const verdict = shown.state === 'told' ? shown.verdict : undefined;
  return (
    <section
      className={classes['verdict']}
      aria-label="Verdict"
      aria-live="assertive"
      aria-atomic
      data-verdict={verdict?.decision ?? shown.state}
    >
      {verdict === undefined ? (
        <p className={classes['waiting']}>
          {shown.state === 'asking' ? 'Asking the gate…' : 'Ready for the next person.'}
        </p>
      ) : (
        <>
          <p className={classes['word']}>
            <span aria-hidden>{verdict.decision === 'allow' ? '✓' : '✕'}</span>{' '}
            {verdict.decision === 'allow' ? 'ALLOW' : 'DENY'}
          </p>
          <p className={classes['reason']}>{verdict.reason}</p>
          {verdict.advice !== undefined && <p className={classes['advice']}>{verdict.advice}</p>}
          <p className={classes['code']}>
            {verdict.code}
            {verdict.decisionId !== undefined && ` · ${verdict.decisionId}`}
          </p>
          <Button variant="white" color="dark" size="lg" onClick={onNext}>
            Next person
          </Button>
        </>
      )}
    </section>
  );
}
