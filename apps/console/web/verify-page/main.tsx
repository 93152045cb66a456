import '../shell/global.css';
import './page.css';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { VerifyDesk } from '../pages/verify/verify-desk.tsx';

const root = document.querySelector('#root');
if (root === null) throw new Error('The page has no #root.');
createRoot(root).render(
  <StrictMode>
    <main>
      <h1>Verify</h1>
      <p>
        Somebody gave you a proof: here your own browser checks that what it is about was written to the ledger when it
        says, and was not changed since. This page is one file, works without a network and sends nothing anywhere, so
        it cannot ask for keys either: who runs the ledger publishes them, and you paste them from where you trust them.
      </p>
      <VerifyDesk />
    </main>
  </StrictMode>,
);
