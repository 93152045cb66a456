import { expect, it } from '@jest/globals';
import { unfinishedTargets } from './checks.ts';

it('finds the targets that failed, or did not run, in the output of Nx', () => {
  const said = `
 NX   Running targets lint-workspace, types, build for 8 projects failed

Tasks not run because their dependencies failed or --nx-bail=true:

- case-gate:build

\u001b[2mFailed tasks:\u001b[22m

\u001b[2m-\u001b[22m dev:lint-workspace
- dev:types

Hint: run the command with --verbose for more details.
`;
  expect(unfinishedTargets(said)).toEqual(['build', 'lint-workspace', 'types']);
  expect(unfinishedTargets('- a list of words\nnx: command not found\n')).toEqual([]);
});
