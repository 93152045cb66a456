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
        This page checks proofs, answers, checkpoints, declared losses, envelopes, packs, deliveries and signed
        documents of a Sealgate ledger. It is one file, works without a network and sends nothing anywhere.
      </p>
      <VerifyDesk />
    </main>
  </StrictMode>,
);
