import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { build, type Plugin, type ResolvedConfig } from 'vite';

/** The hash source of a style or script in a Content-Security-Policy. */
const hashOf = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

/** Escapes an end tag in the text of an element. */
const asScript = (code: string): string => code.replaceAll('</script', '<\\/script');

/**
 * Builds the page Verify as one file as well: style and script are inlined, and its policy allows only these two, by
 * hash. It opens from a disk and makes no requests.
 */
export function oneFilePage(translated: Plugin): Plugin {
  let config: ResolvedConfig;
  return {
    name: 'one-file-page',
    apply: 'build',
    configResolved: (resolved) => {
      config = resolved;
    },
    async closeBundle() {
      const { script, style } = await bundled(config, translated);
      const pages = resolve(config.root, config.build.outDir);
      mkdirSync(pages, { recursive: true });
      writeFileSync(join(pages, 'verify.html'), pageOf(script, style));
    },
  };
}

async function bundled({ root }: ResolvedConfig, translated: Plugin): Promise<{ script: string; style: string }> {
  const result = await build({
    configFile: false,
    root,
    plugins: [translated],
    logLevel: 'error',
    build: {
      write: false,
      target: 'es2022',
      cssCodeSplit: false,
      rolldownOptions: {
        input: join(root, 'verify-page/main.tsx'),
        output: { format: 'iife', codeSplitting: false },
      },
    },
  });
  const outputs = [result].flat().flatMap((one) => ('output' in one ? one.output : []));
  const script = outputs.flatMap((one) => (one.type === 'chunk' ? [one.code] : [])).join('\n');
  const style = outputs.flatMap((one) => (one.type === 'asset' ? [String(one.source)] : [])).join('\n');
  return { script: asScript(script), style };
}

function pageOf(script: string, style: string): string {
  const policy = [
    "default-src 'none'",
    `script-src ${hashOf(script)}`,
    `style-src ${hashOf(style)}`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Sealgate: verify</title>
<style>${style}</style>
</head>
<body>
<noscript>This page checks with JavaScript, and asks nobody. sealgate-verify does the same in a terminal.</noscript>
<div id="root"></div>
<script>${script}</script>
</body>
</html>
`;
}
