import { join } from 'node:path';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';
import { translated } from './translated.ts';
import { oneFilePage } from './verify-page/one-file-page.ts';

/** What only some pages share: the check of a proof, and sources of webhooks. */
const SUBJECTS = /[\\/]verify[\\/]|[\\/]prove[\\/](?!provable|prove-button)|[\\/]networks[\\/]/;

/**
 * The pages of the console: hashed files in `dist/web`, served by the console's server. A mode other than Vite's own is
 * the language of a translation.
 */
export default defineConfig(({ mode }) => ({
  root: import.meta.dirname,
  plugins: [react(), translated(mode), oneFilePage(translated(mode))],
  build: {
    outDir: join(import.meta.dirname, '../dist/web'),
    emptyOutDir: true,
    manifest: true,
    target: 'es2022',
    // Inlined small files would need `data:` in more directives of the Content-Security-Policy than img-src.
    assetsInlineLimit: 0,
    // One file for all pages: they have little beside what they share.
    cssCodeSplit: false,
    // The polyfill would be an inline script, which the policy blocks.
    modulePreload: { polyfill: false },
    rolldownOptions: {
      // Else a module of texts would be loaded whole with what two pages share.
      optimization: { inlineConst: true },
      output: {
        // Few files, because each is a request before a page is shown: what the shell needs, what pages share, and what
        // some share by subject. The rest is loaded with its page.
        codeSplitting: {
          groups: [
            { name: 'shell', tags: ['$initial'], priority: 2 },
            { name: 'shared', test: (id) => !SUBJECTS.test(id), minShareCount: 2, priority: 1 },
            { name: 'proof', test: /[\\/](?:prove|verify)[\\/]/, minShareCount: 2 },
            { name: 'sources', test: /[\\/]networks[\\/]/, minShareCount: 2 },
          ],
        },
      },
    },
  },
}));
