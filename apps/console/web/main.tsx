import '@mantine/core/styles.css';
import '@mantine/notifications/styles.css';
import './shell/global.css';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { MantineProvider } from '@mantine/core';
import { Notifications } from '@mantine/notifications';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from 'react-router';
import { ProblemError } from './shell/problem.ts';
import { createRouter } from './shell/routes.tsx';
import { cssVariables, theme } from './shell/theme.ts';

const nonce = document.querySelector('meta[name="csp-nonce"]')?.getAttribute('content') ?? '';
// The scroll lock of dialogs adds a style element and reads its nonce under this name.
Object.assign(globalThis, { __webpack_nonce__: nonce });

const FRESH_MS = 10_000;

/** Timeouts are not retried: the wait was long enough. */
const isWaited = ({ cause }: ProblemError): boolean => cause instanceof DOMException && cause.name === 'TimeoutError';

/** Reads are retried once after a connection error or a 503; changes are never retried automatically. */
const createQueries = (): QueryClient =>
  new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: FRESH_MS,
        retry: (count, error) =>
          count < 1 && error instanceof ProblemError && [0, 502, 503].includes(error.status) && !isWaited(error),
      },
      mutations: { retry: false },
    },
  });

const root = document.querySelector('#root');
if (root === null) throw new Error('The page has no #root.');
createRoot(root).render(
  <StrictMode>
    <MantineProvider
      theme={theme}
      cssVariablesResolver={cssVariables}
      defaultColorScheme="auto"
      getStyleNonce={() => nonce}
    >
      <QueryClientProvider client={createQueries()}>
        <Notifications position="bottom-right" limit={3} />
        <RouterProvider router={createRouter()} />
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
);
