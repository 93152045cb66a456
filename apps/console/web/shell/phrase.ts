import { createElement, Fragment, type ReactNode } from 'react';

/** A sentence with elements in it: a text whose values may be nodes of React. */
export const phrase = (words: TemplateStringsArray, ...values: readonly ReactNode[]): ReactNode =>
  createElement(Fragment, null, ...words.flatMap((word, index) => [word, values[index]]));
