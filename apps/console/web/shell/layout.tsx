import { lazy, Suspense, useEffect, useRef, useState, type ReactNode } from 'react';
import {
  ActionIcon,
  Box,
  Button,
  Group,
  Loader,
  Stack,
  Text,
  useComputedColorScheme,
  useMantineColorScheme,
} from '@mantine/core';
import { useNotifications } from '@mantine/notifications';
import { Link, NavLink, Outlet, useLocation } from 'react-router';
import { server } from './api.ts';
import { FindButton } from './find-button.tsx';
import { Icon } from './icons.tsx';
import { Unread } from './list-states.tsx';
import { useMine } from './mine.ts';
import { partAt, partsOf } from './parts.ts';
import { ProblemView } from './problem-view.tsx';
import { SignedOut, signInAddress } from './signed-out.tsx';
import { isKiosk } from '../pages/door/use-kiosk.ts';
import { useSession, useSignedOut, type Session } from './session.ts';
import * as texts from './texts.ts';
import classes from './layout.module.css';

const Roles = lazy(async () => ({ default: (await import('./account.tsx')).Roles }));
const Notices = lazy(async () => ({ default: (await import('./notices.tsx')).Notices }));

/** Header, menu and the open page. The page stays mounted when the session ends, so that input is not lost. */
export function Layout(): ReactNode {
  const [menuOpen, setMenuOpen] = useState(false);
  const session = useSession();
  const { pathname, search } = useLocation();
  const main = useRef<HTMLElement>(null);
  const first = useRef(true);
  const kiosk = isKiosk(pathname, search);
  useEffect(() => {
    setMenuOpen(false);
    // Moves focus to the new page, for screen readers and keyboard users.
    if (!first.current) main.current?.focus({ preventScroll: true });
    first.current = false;
  }, [pathname]);
  return (
    <div className={classes['layout']} data-kiosk={kiosk || undefined}>
      {!kiosk && (
        <>
          <a href="#main" className={classes['skip']}>
            {texts.skipToThePage}
          </a>
          <Head menuOpen={menuOpen} onMenu={() => setMenuOpen(!menuOpen)} />
          <Parts isOpen={menuOpen} />
        </>
      )}
      <main id="main" tabIndex={-1} ref={main} className={classes['main']}>
        <Stack gap="md">
          {session.isError && <ProblemView error={session.error} onRetry={() => void session.refetch()} />}
          <Content />
        </Stack>
      </main>
      <ShownNotices />
    </div>
  );
}

function Head({ menuOpen, onMenu }: { readonly menuOpen: boolean; readonly onMenu: () => void }): ReactNode {
  const session = useSession();
  const { mine } = useMine();
  return (
    <header className={classes['head']}>
      <Group gap="sm" wrap="nowrap">
        <ActionIcon
          hiddenFrom="sm"
          variant="subtle"
          color="gray"
          size="lg"
          aria-label={texts.menu}
          aria-expanded={menuOpen}
          onClick={onMenu}
        >
          <Icon name={menuOpen ? 'cross' : 'menu'} size={22} />
        </ActionIcon>
        <Link to="/home" className={classes['brand']}>
          <Seal />
          {texts.sealgate}
        </Link>
      </Group>
      <Group gap="xs" wrap="nowrap">
        {mine !== undefined && <FindButton mine={mine} />}
        <SchemeButton />
        {session.data !== undefined && <Who session={session.data} />}
      </Group>
    </header>
  );
}

/** As in `favicon.svg`, without a request. */
const Seal = (): ReactNode => (
  <svg width={26} height={26} viewBox="0 0 24 24" fill="none" stroke="#fff" strokeWidth="1.8" aria-hidden="true">
    <rect width="24" height="24" rx="6" fill="#0b6b62" stroke="none" />
    <path d="M12 5l6 3.2v7.6L12 19l-6-3.2V8.2zM9 12.2l2.2 2.2L15.2 10" strokeLinecap="round" strokeLinejoin="round" />
  </svg>
);

function Parts({ isOpen }: { readonly isOpen: boolean }): ReactNode {
  const session = useSession();
  const { mine } = useMine();
  return (
    <nav className={classes['navbar']} data-open={isOpen || undefined} aria-label={texts.partsOfTheConsole}>
      {partsOf(mine, session.data?.person != null).map(({ path, title, icon }) => (
        <NavLink key={path} to={`/${path}`} className={classes['link'] ?? ''}>
          <Icon name={icon} />
          {title}
        </NavLink>
      ))}
    </nav>
  );
}

/** Notices of finished work. Few pages have any, so what shows them is loaded with the first. */
function ShownNotices(): ReactNode {
  const { notifications } = useNotifications();
  const [wereAny, setWereAny] = useState(false);
  if (!wereAny && notifications.length > 0) setWereAny(true);
  return (
    wereAny && (
      <Suspense fallback={null}>
        <Notices />
      </Suspense>
    )
  );
}

/** The open page, once it is known what is theirs; it is not taken away again, so that no input is lost. */
function Content(): ReactNode {
  const { pathname } = useLocation();
  const session = useSession();
  const signedOut = useSignedOut();
  const { mine, ...rights } = useMine();
  const [hadRights, setHadRights] = useState(false);
  if (!hadRights && mine !== undefined) setHadRights(true);
  const [wasSignedIn, setWasSignedIn] = useState(false);
  if (!wasSignedIn && session.data?.person != null) setWasSignedIn(true);
  const open = partAt(pathname)?.open ?? false;
  return (
    <>
      {!open && signedOut && <SignedOut under={wasSignedIn} />}
      {!open && wasSignedIn && !hadRights && <Unread read={rights} rows={4} />}
      {(open || hadRights) && <OpenPage />}
    </>
  );
}

/** A part that is not loaded yet is announced; one that changes its page stays as it is meanwhile. */
function OpenPage(): ReactNode {
  const { pathname } = useLocation();
  return (
    <Suspense
      key={pathname.split('/')[1]}
      fallback={<Loader aria-label={texts.loading} className={classes['late'] ?? ''} />}
    >
      <Outlet />
    </Suspense>
  );
}

function SchemeButton(): ReactNode {
  const { setColorScheme } = useMantineColorScheme();
  const scheme = useComputedColorScheme('light');
  const other = scheme === 'dark' ? 'light' : 'dark';
  const title = other === 'dark' ? texts.useDarkColours : texts.useLightColours;
  return (
    <ActionIcon
      variant="subtle"
      color="gray"
      size="lg"
      aria-label={title}
      title={title}
      onClick={() => setColorScheme(other)}
    >
      <Icon name={other === 'dark' ? 'moon' : 'sun'} />
    </ActionIcon>
  );
}

function Who({ session }: { session: Session }): ReactNode {
  const { pathname, search } = useLocation();
  const [wasOpen, setWasOpen] = useState(false);
  const { person } = session;
  if (person === null) {
    return (
      <Button component="a" href={signInAddress(`${pathname}${search}`)} size="xs">
        {texts.signIn}
      </Button>
    );
  }
  const name = person.name ?? person.email ?? person.subject;
  return (
    <>
      <Button
        popoverTarget="who"
        variant="subtle"
        color="gray"
        size="sm"
        px="xs"
        leftSection={<Icon name="person" />}
        maw={200}
        aria-label={name}
        className={classes['account'] ?? ''}
      >
        <Text span inherit truncate visibleFrom="xs">
          {name}
        </Text>
      </Button>
      <div id="who" popover="auto" className={classes['who']} onToggle={() => setWasOpen(true)}>
        <Stack gap={2}>
          <Text size="sm" fw={600} className="wrap">
            {name}
          </Text>
          {person.email !== undefined && (
            <Text size="sm" className="wrap">
              {person.email}
            </Text>
          )}
          <Text size="xs" c="dimmed" className="wrap">
            {texts.signedInBy(person.issuer)}
          </Text>
        </Stack>
        {wasOpen && (
          <Suspense fallback={null}>
            <Box mt="sm">
              <Roles />
            </Box>
          </Suspense>
        )}
        <Button variant="default" size="sm" fullWidth mt="sm" onClick={() => void signOut()}>
          {texts.signOut}
        </Button>
      </div>
    </>
  );
}

/** Ends the session here, then at the provider, if it has an end-session page. */
async function signOut(): Promise<void> {
  const { data } = await server.POST('/sign-out');
  globalThis.location.assign(data?.endSessionUrl ?? '/');
}
