import TestSequencer from '@jest/test-sequencer';

/**
 * Files that take a minute or more. In a fresh checkout Jest knows no durations and starts the largest files first,
 * but these are short, because they only list stories or call programs that take long.
 */
const LONG = [
  /apps\/e2e\/src\/console\/[\w-]+\.e2e\.spec\.ts$/,
  /apps\/e2e\/src\/fabric-(stand-in|real)\.e2e\.spec\.ts$/,
  /apps\/e2e\/src\/(chaos|site|published-client)\.slow\.spec\.ts$/,
  /tools\/dev\/(src\/release\/[\w-]+|bundle)\.slow\.spec\.ts$/,
  /tools\/dev\/src\/start\/[\w-]+\.int\.spec\.ts$/,
  /tools\/dev\/src\/infra\/operations\.int\.spec\.ts$/,
];

/** Starts the longest files first: otherwise one of them runs alone at the end, while the other workers are idle. */
export default class LongestFirst extends TestSequencer {
  sort(tests) {
    const rank = ({ path, duration }) => (duration === undefined && LONG.some((long) => long.test(path)) ? 0 : 1);
    return super.sort(tests).toSorted((a, b) => rank(a) - rank(b));
  }
}
