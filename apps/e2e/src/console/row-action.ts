import type { Locator } from 'playwright-core';

/** Picks an action from the menu of a row. */
export async function rowAction(row: Locator, action: string): Promise<void> {
  await row
    .getByRole('button', { name: /^Actions of/ })
    .first()
    .click();
  await row.page().getByRole('menuitem', { name: action, exact: true }).click();
}
