import '../shell/global.css';
import './page.css';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { VerifyDesk } from '../pages/verify/verify-desk.tsx';
import { language } from '../shell/format-texts.ts';
import * as texts from './texts.ts';

const root = document.querySelector('#root');
document.documentElement.lang = language;
document.title = texts.sealgateVerify;
if (root === null) throw new Error('The page has no #root.');
createRoot(root).render(
  <StrictMode>
    <main>
      <h1>{texts.verify}</h1>
      <p>{texts.verifyIntro}</p>
      <VerifyDesk />
    </main>
  </StrictMode>,
);
