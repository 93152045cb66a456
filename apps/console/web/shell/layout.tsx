import { Suspense, useEffect, useRef, useState, type ReactNode } from 'react';
import {
  ActionIcon,
  AppShell,
  Burger,
  Button,
  Group,
  Loader,
  Menu,
  NavLink,
  Stack,
  Text,
  Tooltip,
  useComputedColorScheme,
  useMantineColorScheme,
} from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { Link, Outlet, useLocation, useNavigation } from 'react-router';
import { sendJson } from './console-fetch.ts';
import { FindButton } from './find-button.tsx';
import { Icon } from './icons.tsx';
import { Unread } from './list-states.tsx';
import { useMine } from './mine.ts';
import { partsOf, parts } from './parts.ts';
import { ProblemView } from './problem-view.tsx';
import { SignedOut, signInAddress } from './signed-out.tsx';
import { isKiosk } from '../pages/door/use-kiosk.ts';
import { useSession, useSignedOut, type Session } from './session.ts';
import classes from './layout.module.css';

/** Header, menu and the open page. The page stays mounted when the session ends, so that input is not lost. */
export function Layout(): ReactNode {
  const [menuOpen, menu] = useDisclosure(false);
  const session = useSession();
  const { pathname, search } = useLocation();
  const { mine } = useMine();
  const main = useRef<HTMLElement>(null);
  const first = useRef(true);
  useEffect(() => {
    menu.close();
    // Moves focus to the new page, for screen readers and keyboard users.
    if (!first.current) main.current?.focus({ preventScroll: true });
    first.current = false;
  }, [pathname]);
  return (
    <AppShell
      disabled={isKiosk(pathname, search)}
      header={{ height: 56 }}
      navbar={{ width: 232, breakpoint: 'sm', collapsed: { mobile: !menuOpen } }}
      padding={{ base: 'md', sm: 'xl' }}
    >
      <a href="#main" className={classes['skip']}>
        Skip to the page
      </a>
      <AppShell.Header className={classes['head'] ?? ''}>
        <Group h="100%" px="md" justify="space-between" wrap="nowrap">
          <Group gap="sm" wrap="nowrap">
            <Burger opened={menuOpen} onClick={menu.toggle} hiddenFrom="sm" size="sm" aria-label="Menu" />
            <Link to="/home" className={classes['brand']}>
              <img src="/favicon.svg" alt="" width={26} height={26} />
              Sealgate
            </Link>
          </Group>
          <Group gap="xs" wrap="nowrap">
            {mine !== undefined && !isKiosk(pathname, search) && <FindButton mine={mine} />}
            <SchemeButton />
            {session.data !== undefined && <Who session={session.data} />}
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar className={classes['navbar'] ?? ''} p="sm" aria-label="Parts of the console">
        {partsOf(mine, session.data?.person != null).map(({ path, title, icon }) => (
          <NavLink
            key={path}
            component={Link}
            to={`/${path}`}
            label={title}
            leftSection={<Icon name={icon} />}
            active={pathname === `/${path}` || pathname.startsWith(`/${path}/`)}
            className={classes['link'] ?? ''}
          />
        ))}
      </AppShell.Navbar>
      <AppShell.Main id="main" tabIndex={-1} ref={main} className={classes['main'] ?? ''}>
        <Stack gap="md">
          {session.isError && <ProblemView error={session.error} onRetry={() => void session.refetch()} />}
          <Content />
        </Stack>
      </AppShell.Main>
    </AppShell>
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
  const open = parts.find(({ path }) => pathname === `/${path}` || pathname.startsWith(`/${path}/`))?.open ?? false;
  return (
    <>
      {!open && signedOut && <SignedOut under={wasSignedIn} />}
      {!open && wasSignedIn && !hadRights && <Unread read={rights} rows={4} />}
      {(open || hadRights) && <OpenPage />}
    </>
  );
}

function OpenPage(): ReactNode {
  const { state } = useNavigation();
  return (
    <Suspense fallback={<Loader aria-label="Loading" />}>
      <div className={state === 'loading' ? (classes['leaving'] ?? '') : ''}>
        <Outlet />
      </div>
    </Suspense>
  );
}

function SchemeButton(): ReactNode {
  const { setColorScheme } = useMantineColorScheme();
  const scheme = useComputedColorScheme('light');
  const other = scheme === 'dark' ? 'light' : 'dark';
  return (
    <Tooltip label={`Use ${other} colours`}>
      <ActionIcon
        variant="subtle"
        color="gray"
        size="lg"
        aria-label={`Use ${other} colours`}
        onClick={() => setColorScheme(other)}
      >
        <Icon name={other === 'dark' ? 'moon' : 'sun'} />
      </ActionIcon>
    </Tooltip>
  );
}

function Who({ session }: { session: Session }): ReactNode {
  const { pathname, search } = useLocation();
  const { person } = session;
  if (person === null) {
    return (
      <Button component="a" href={signInAddress(`${pathname}${search}`)} size="xs">
        Sign in
      </Button>
    );
  }
  const name = person.name ?? person.email ?? person.subject;
  return (
    <Menu position="bottom-end" width={260}>
      <Menu.Target>
        <Button
          variant="subtle"
          color="gray"
          size="sm"
          px="xs"
          leftSection={<Icon name="person" />}
          maw={{ base: 96, xs: 200 }}
        >
          <Text span inherit truncate>
            {name}
          </Text>
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Stack gap={2} px="sm" py="xs">
          <Text size="sm" fw={600} className="wrap">
            {name}
          </Text>
          {person.email !== undefined && (
            <Text size="sm" className="wrap">
              {person.email}
            </Text>
          )}
          <Text size="xs" c="dimmed" className="wrap">
            Signed in by {person.issuer}
          </Text>
        </Stack>
        <Menu.Divider />
        <Menu.Item onClick={() => void signOut()}>Sign out</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

/** Ends the session here, then at the provider, if it has an end-session page. */
async function signOut(): Promise<void> {
  const { endSessionUrl } = await sendJson<{ endSessionUrl?: string }>('/sign-out', {});
  globalThis.location.assign(endSessionUrl ?? '/');
}
