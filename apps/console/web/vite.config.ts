import { join } from 'node:path';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';
import { oneFilePage } from './verify-page/one-file-page.ts';

/** The pages of the console: hashed files below `dist/web`, served by the console's own server. */
export default defineConfig({
  root: import.meta.dirname,
  plugins: [react(), oneFilePage()],
  build: {
    outDir: join(import.meta.dirname, '../dist/web'),
    emptyOutDir: true,
    manifest: true,
    target: 'es2022',
    // Small files as data: addresses would need `data:` in more of the Content-Security-Policy than images.
    assetsInlineLimit: 0,
    // A polyfill would be an inline script, which the policy refuses.
    modulePreload: { polyfill: false },
  },
});
