import { join } from 'node:path';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';
import { oneFilePage } from './verify-page/one-file-page.ts';

/** The pages of the console: hashed files in `dist/web`, served by the console's server. */
export default defineConfig({
  root: import.meta.dirname,
  plugins: [react(), oneFilePage()],
  build: {
    outDir: join(import.meta.dirname, '../dist/web'),
    emptyOutDir: true,
    manifest: true,
    target: 'es2022',
    // Inlined small files would need `data:` in more directives of the Content-Security-Policy than img-src.
    assetsInlineLimit: 0,
    // The polyfill would be an inline script, which the policy blocks.
    modulePreload: { polyfill: false },
  },
});
