import '@mantine/core/styles.css';
import '@mantine/notifications/styles.css';
import './shell/global.css';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { MantineProvider } from '@mantine/core';
import { Notifications } from '@mantine/notifications';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from 'react-router';
import { createQueries } from './shell/queries.ts';
import { createRouter } from './shell/routes.tsx';
import { cssVariables, theme } from './shell/theme.ts';

const nonce = document.querySelector('meta[name="csp-nonce"]')?.getAttribute('content') ?? '';
// The scroll lock of dialogs makes a style element of its own, and asks for the nonce under this name.
Object.assign(globalThis, { __webpack_nonce__: nonce });

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
