import { describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { askedBy, looksOf } from './page-looks.ts';
import { rowAction } from './row-action.ts';
import type { ConsoleStack } from './start-stack.ts';

/** Owners invite people, and change their rights. */
export function peopleStories(stack: () => ConsoleStack): void {
  const owner = () => stack().dev.demo.keys['owner']!;
  const api = (path: string) => `${stack().dev.surfaces['risk-partner']!.url}/api${path}`;
  const page = (name: string) => `/risks/${stack().dev.demo.orgId}/${name}`;

  describe('the people of an organisation', () => {
    it('are invited by an owner, who passes on the link; the invitation waits and is withdrawn', async () => {
      const email = `invited.${Date.now()}@example.com`;
      const invitations = async () =>
        (await askedBy(owner(), api('/people/invitations?limit=200'))).json as { email: string; roles: string[] }[];
      await stack().visit('owner', page('people'), async (window) => {
        await window.getByRole('button', { name: 'Invite somebody' }).click();
        const dialog = window.getByRole('dialog');
        const address = dialog.getByLabel('E-mail address');
        await address.fill('nobody');
        await address.press('Enter');
        await dialog.getByText('Enter an e-mail address.').waitFor();
        await dialog.getByText('Fill this in.').waitFor();
        await address.fill(email);
        await address.press('Enter');
        await dialog
          .locator(':focus')
          .and(dialog.getByRole('combobox', { name: 'Roles' }))
          .waitFor();
        expect(JSON.stringify(await invitations())).not.toContain(email);
        await dialog.getByRole('combobox', { name: 'Roles' }).click();
        await window.getByRole('option', { name: 'Viewer' }).click();
        // The list covers no button.
        await window.getByRole('option', { name: 'Viewer' }).waitFor({ state: 'hidden' });
        expect(await looksOf(window, stack(), 'people-invite')).toEqual([]);
        await dialog.getByRole('button', { name: 'Invite' }).click();
        await window.getByText(`/risks/${stack().dev.demo.orgId}/register`).waitFor();
        await window.getByRole('button', { name: 'Copy the link' }).waitFor();
        expect(await looksOf(window, stack(), 'people-link')).toEqual([]);
        await window.getByRole('button', { name: 'I have copied it' }).click();
        expect(await invitations()).toContainEqual(expect.objectContaining({ email, roles: ['viewer'] }));
        const row = window.getByRole('table', { name: 'Invitations that wait' }).getByRole('row', { name: email });
        await row.waitFor();
        expect(await looksOf(window, stack(), 'people')).toEqual([]);
        const people = window.getByRole('table', { name: 'People' });
        await people.getByRole('columnheader', { name: 'Last seen' }).waitFor();
        await people.getByRole('row').filter({ hasText: 'You' }).getByRole('time').waitFor();
        await rowAction(row, 'Withdraw');
        await window.getByRole('dialog').getByRole('button', { name: 'Withdraw' }).click();
        await row.waitFor({ state: 'detached' });
      });
      expect(JSON.stringify(await invitations())).not.toContain(email);
    }, 120_000);

    it('are asked only for what makes a difference for their roles, with what it means', async () => {
      await stack().visit('owner', page('people'), async (window) => {
        await window.getByRole('button', { name: 'Invite somebody' }).click();
        const dialog = window.getByRole('dialog');
        const choose = async (role: string) => {
          await dialog.getByRole('combobox', { name: 'Roles' }).click();
          await window.getByRole('option', { name: role, exact: true }).click();
        };
        const asked = async () => ({
          all: await dialog.getByLabel('Sees all rows').count(),
          departments: await dialog.getByRole('combobox', { name: 'Departments' }).count(),
          sensitive: await dialog.getByLabel('Sees sensitive rows').count(),
        });
        await dialog.getByText('Without a role they see no rows.').waitFor();
        expect(await asked()).toEqual({ all: 0, departments: 0, sensitive: 0 });
        await choose('Viewer');
        await dialog.getByText(/^They read all risks, evidence and assets, of every department/).waitFor();
        expect(await asked()).toEqual({ all: 1, departments: 1, sensitive: 1 });
        await dialog.getByLabel('Sees all rows').check();
        expect(await asked()).toEqual({ all: 1, departments: 0, sensitive: 1 });
        await choose('Auditor');
        await dialog.getByText('Auditors and partners see the rows of all departments.').waitFor();
        expect(await asked()).toEqual({ all: 0, departments: 0, sensitive: 1 });
        await choose('Owner');
        await dialog.getByText(/see all rows, sensitive ones too/).waitFor();
        expect(await asked()).toEqual({ all: 0, departments: 0, sensitive: 0 });
        await dialog.getByRole('button', { name: 'Cancel' }).click();
        await dialog.waitFor({ state: 'detached' });
        // The reader goes on where they were.
        expect(await window.evaluate('document.activeElement.textContent')).toBe('Invite somebody');
      });
    }, 60_000);

    it('are changed as far as the rights of who changes them go, and the last owner stays', async () => {
      // Auditors are not told when somebody was seen, which changes by itself.
      const auditor = stack().dev.demo.keys['auditor']!;
      const all = (await askedBy(auditor, api('/people?limit=200'))).json as {
        id: string;
        name: string;
        roles: string[];
      }[];
      const owners = all.filter(({ roles }) => roles.includes('owner'));
      expect(owners).toHaveLength(1);
      const viewer = all.find(({ roles }) => roles.length === 1 && roles[0] === 'contributor')!;
      const choose = async (window: Page, name: string, role: string) => {
        await rowAction(window.getByRole('row', { name }).first(), 'Roles and scope');
        await window.getByRole('dialog').getByRole('combobox', { name: 'Roles' }).click();
        await window.getByRole('option', { name: role, exact: true }).click();
        await window.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
      };
      await stack().visit('owner', page('people'), async (window) => {
        // Chosen already, so it is taken away.
        await choose(window, owners[0]!.name, 'Owner');
        await window.getByText('This is the last owner. Make somebody else an owner first.').waitFor();
        await window.getByText('IN_USE').waitFor();
        expect(await looksOf(window, stack(), 'people-last-owner')).toEqual([]);
      });
      await stack().visit('admin', page('people'), async (window) => {
        await choose(window, viewer.name, 'Owner');
        await window.getByText(/^You can give only roles and rows that you have yourself/).waitFor();
      });
      const after = await askedBy(auditor, api('/people?limit=200'));
      expect(after.json).toEqual(all);
      await stack().visit('auditor', page('people'), async (window) => {
        await window.getByRole('table', { name: 'People' }).waitFor();
        expect(await window.getByRole('button', { name: 'Invite somebody' }).count()).toBe(0);
        await rowAction(window.getByRole('row', { name: owners[0]!.name }).first(), 'Risks they own');
        await window.waitForURL(`**/register?ownerId=${owners[0]!.id}`);
        await window.getByRole('table', { name: 'Risk register' }).waitFor();
      });
    }, 120_000);
  });
}
