import { createTheme, type CSSVariablesResolver, type MantineColorsTuple } from '@mantine/core';
import * as texts from './texts.ts';

const seal: MantineColorsTuple = [
  '#eaf7f5',
  '#d5ebe8',
  '#a6d7d0',
  '#75c2b8',
  '#4dafa3',
  '#2f9d90',
  '#178477',
  '#0b6b62',
  '#07574f',
  '#03423c',
];

const systemFont =
  "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'Noto Sans', 'Liberation Sans', Arial, sans-serif";
const monoFont = "ui-monospace, SFMono-Regular, 'SF Mono', Menlo, Consolas, 'Liberation Mono', monospace";

/** System fonts: nothing is downloaded, and names in any script can be displayed. */
export const theme = createTheme({
  colors: { seal },
  primaryColor: 'seal',
  primaryShade: 7,
  autoContrast: true,
  luminanceThreshold: 0.35,
  fontFamily: systemFont,
  fontFamilyMonospace: monoFont,
  headings: {
    fontFamily: systemFont,
    fontWeight: '600',
    sizes: { h1: { fontSize: '1.5rem' }, h2: { fontSize: '1.15rem' }, h3: { fontSize: '1rem' } },
  },
  defaultRadius: 'md',
  cursorType: 'pointer',
  respectReducedMotion: true,
  components: {
    Paper: { defaultProps: { withBorder: true, p: 'md' } },
    Modal: { defaultProps: { centered: true, overlayProps: { backgroundOpacity: 0.45 } } },
    Tooltip: { defaultProps: { withArrow: true, openDelay: 200 } },
    Badge: { defaultProps: { variant: 'light', radius: 'sm' } },
    Anchor: { defaultProps: { underline: 'hover' } },
    Notification: { defaultProps: { closeButtonProps: { 'aria-label': texts.close } } },
  },
});

/** Text colours have a contrast of at least 4.5 to 1 on every background of the console (WCAG 2.2, 1.4.3). */
export const cssVariables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    '--mantine-color-body': '#ffffff',
    '--mantine-color-dimmed': '#545d66',
    '--mantine-color-placeholder': '#5f6973',
    '--mantine-color-anchor': '#0b6b62',
    '--mantine-color-error': '#b3261e',
    '--console-canvas': '#f5f7f8',
    '--console-line': '#dfe4e8',
    '--console-good': '#1a6e35',
    '--console-good-soft': '#e3f4e8',
    '--console-bad': '#b3261e',
    '--console-bad-soft': '#fdeceb',
    '--console-wait': '#7a4d00',
    '--console-wait-soft': '#fff3dc',
  },
  dark: {
    '--mantine-color-body': '#171b1f',
    '--mantine-color-text': '#dde3e8',
    '--mantine-color-dimmed': '#a3adb7',
    '--mantine-color-placeholder': '#98a2ac',
    '--mantine-color-anchor': '#6ecabf',
    '--mantine-color-error': '#ff9d95',
    '--console-canvas': '#101316',
    '--console-line': '#2c3339',
    '--console-good': '#7fd79a',
    '--console-good-soft': '#16301f',
    '--console-bad': '#ff9d95',
    '--console-bad-soft': '#3a1917',
    '--console-wait': '#f2c069',
    '--console-wait-soft': '#33270f',
  },
});
