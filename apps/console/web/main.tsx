import './shell/mantine.css';
import './shell/global.css';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { watchHistory } from './shell/ask-before-leaving.ts';
import { watchFocus } from './shell/focus-back.ts';
import * as texts from './shell/format-texts.ts';
import { partAt } from './shell/parts.ts';
import { ProblemError } from './shell/problem.ts';
import { Pages } from './shell/routes.tsx';
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

// Meanwhile the shell asks who is signed in. A failure is shown where the part is.
partAt(globalThis.location.pathname)
  ?.load()
  .catch(() => undefined);

watchHistory();
document.documentElement.lang = texts.language;
watchFocus();

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
        <Pages />
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
);
