import { expect, it } from '@jest/globals';
import { openedOrStartError, StartError } from './index.ts';

class FolderError extends Error {}

it('openedOrStartError turns errors that an operator can fix into StartErrors, and passes on others', async () => {
  await expect(openedOrStartError(FolderError, async () => 'opened')).resolves.toBe('opened');
  const cause = new FolderError('The folder is read-only: make it writable.');
  const told = openedOrStartError(FolderError, () => Promise.reject(cause));
  await expect(told).rejects.toBeInstanceOf(StartError);
  await expect(told).rejects.toMatchObject({ message: cause.message, cause });
  const bug = new TypeError('x');
  await expect(openedOrStartError(FolderError, () => Promise.reject(bug))).rejects.toBe(bug);
});
