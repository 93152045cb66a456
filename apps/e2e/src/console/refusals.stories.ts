import { describe, expect, it } from '@jest/globals';
import { until } from '@sealgate/testing';
import type { Page } from 'playwright-core';
import { askedBy } from './page-looks.ts';
import type { ConsoleStack } from './start-stack.ts';

/** For how long pages wait for an answer. */
const GIVEN_UP_MS = 30_000;

/** Makes pages wait a quarter of the time that they ask for, and keeps that time. */
const SHORT_WAITS = `{
  const { timeout } = AbortSignal;
  globalThis.askedMs = [];
  AbortSignal.timeout = (ms) => {
    askedMs.push(ms);
    return timeout.call(AbortSignal, ms / 4);
  };
}`;

/** Picks a person on the provider's page and returns the redirect, which the browser has not followed yet. */
async function signedAs(page: Page, subject: string): Promise<string> {
  const { request } = page.context();
  const once = { maxRedirects: 0 };
  const picked = await request.post(page.url(), { form: { subject }, ...once });
  const sent = await request.get(new URL(picked.headers()['location'] ?? '', page.url()).href, once);
  return sent.headers()['location'] ?? '';
}

interface Listed<T> {
  readonly items: readonly T[];
}

/** Failures in the middle of an action: each is reported, can be left, and loses no input. */
export function refusalStories(stack: () => ConsoleStack): void {
  const risks = () => stack().dev.surfaces['risk-partner']!;
  const register = () => `/risks/${stack().dev.demo.orgId}/register`;
  const owner = () => stack().dev.demo.keys['owner']!;
  const admin = async <T>(path: string, method = 'GET', body?: object): Promise<T> => {
    const url = `${risks().adminUrl}/admin/v1/orgs/${stack().dev.demo.orgId}${path}`;
    const answer = await askedBy(stack().dev.adminToken, url, { method, ...(body && { body: JSON.stringify(body) }) });
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.json)}`);
    return answer.json as T;
  };
  const personOf = async (role: string): Promise<{ id: string }> => {
    const { items } = await admin<Listed<{ id: string; roles: string[] }>>('/people?limit=50');
    return items.find(({ roles }) => roles.includes(role))!;
  };
  const makeRisk = async (title: string): Promise<{ id: string }> => {
    const body = JSON.stringify({ title, category: 'story', inherent: { likelihood: 2, impact: 3 } });
    return (await askedBy(owner(), `${risks().url}/api/risks`, { method: 'POST', body })).json as { id: string };
  };

  /** Stops a process (SIGSTOP) while `work` runs: it accepts connections and answers nothing. */
  const held = async (pid: number, work: () => Promise<void>): Promise<void> => {
    process.kill(pid, 'SIGSTOP');
    try {
      await work();
    } finally {
      process.kill(pid, 'SIGCONT');
    }
  };

  describe('in the middle of an action', () => {
    it('a field is missing or refused: the form says so there, and the browser asks before the input is lost', async () => {
      await stack().visit('operator', '/cases/live/venues', async (window) => {
        await window.getByRole('button', { name: 'New venue' }).click();
        const dialog = window.getByRole('dialog');
        const save = dialog.getByRole('button', { name: 'Save' });
        const isWrong = (name: string) => dialog.getByRole('textbox', { name }).getAttribute('aria-invalid');
        await save.click();
        await dialog.getByText('Fill this in.').first().waitFor();
        expect([await isWrong('Id'), await isWrong('Name')]).toEqual(['true', 'true']);
        const isFocused = (name: string) => dialog.locator(':focus').and(dialog.getByRole('textbox', { name }));
        await isFocused('Id').waitFor();
        await dialog.getByRole('textbox', { name: 'Id' }).fill('not an id');
        await dialog.getByRole('textbox', { name: 'Name' }).fill('Hall');
        await save.click();
        await dialog.getByText('INVALID_REQUEST').waitFor();
        expect([await isWrong('Id'), await isWrong('Name')]).toEqual(['true', null]);
        await isFocused('Id').waitFor();
        await dialog.getByRole('textbox', { name: 'Id' }).fill(stack().dev.demo.venueId);
        await save.click();
        await dialog.getByText('ALREADY_EXISTS').waitFor();
        expect([await isWrong('Id'), await isWrong('Name')]).toEqual(['true', null]);
        const asked: string[] = [];
        window.on('dialog', (question) => {
          asked.push(question.message() || question.type());
          void (asked.length < 3 ? question.dismiss() : question.accept());
        });
        await window.keyboard.press('Escape');
        await window.getByRole('button', { name: 'Close' }).click();
        expect(await dialog.getByRole('textbox', { name: 'Name' }).inputValue()).toBe('Hall');
        await window.reload();
        const lost = 'Leave and lose what you typed?';
        expect(asked).toEqual([lost, lost, 'beforeunload']);
      });
    }, 60_000);

    it('a page is left by a link or by Back: it asks while there is input that was not sent', async () => {
      await stack().visit('risk_manager', register(), async (window) => {
        const asked: string[] = [];
        let isLeft = false;
        window.on('dialog', (question) => {
          asked.push(question.message());
          void (isLeft ? question.accept() : question.dismiss());
        });
        await window.getByRole('link', { name: 'New risk' }).click();
        const title = window.getByRole('textbox', { name: 'Title' });
        await title.fill('Half of a risk');
        const home = window.getByRole('link', { name: 'Home', exact: true });
        await home.click();
        await until(() => asked.length === 1);
        await window.evaluate('history.back()');
        await until(() => asked.length === 2);
        await until(async () => String(await window.evaluate('location.pathname')).endsWith('/new'));
        expect(await title.inputValue()).toBe('Half of a risk');
        isLeft = true;
        await home.click();
        await title.waitFor({ state: 'detached' });
        const lost = 'Leave and lose what you typed?';
        expect(asked).toEqual([lost, lost, lost]);
        await window.goBack();
        await title.waitFor();
        expect([await title.inputValue(), asked.length]).toEqual(['', 3]);
      });
    }, 60_000);

    it('a role is removed: the change is refused with its input kept, and succeeds once the role is back', async () => {
      const person = await personOf('risk_manager');
      const { id } = await makeRisk('A role is taken away');
      await stack().visit('risk_manager', `${register()}/${id}`, async (page) => {
        await page.getByRole('button', { name: 'Edit' }).click();
        await page.getByLabel('Title').fill('Typed before');
        await admin(`/people/${person.id}/roles`, 'PUT', { roles: ['viewer'] });
        try {
          await page.getByRole('button', { name: 'Save' }).click();
          await page.getByRole('alert').getByText('FORBIDDEN').first().waitFor();
          await page.getByText('Your role does not allow this').waitFor();
          expect(await page.getByLabel('Title').inputValue()).toBe('Typed before');
        } finally {
          await admin(`/people/${person.id}/roles`, 'PUT', { roles: ['risk_manager'] });
        }
        await page.getByRole('button', { name: 'Save' }).click();
        await page.getByRole('heading', { name: 'Typed before' }).waitFor();
      });
      expect((await askedBy(owner(), `${risks().url}/api/risks/${id}`)).json).toMatchObject({ title: 'Typed before' });
    }, 60_000);

    it('a signed-in person is removed: the next request is refused with the reason', async () => {
      const person = await personOf('auditor');
      const path = `/people/${person.id}/identities`;
      const { items } = await admin<Listed<{ id: string; issuer: string; subject: string }>>(path);
      const [{ id, issuer, subject }] = items as [{ id: string; issuer: string; subject: string }];
      await stack().visit('auditor', register(), async (page) => {
        await page.getByRole('table', { name: 'Risk register' }).waitFor();
        await admin(`${path}/${id}`, 'DELETE');
        try {
          await page.getByRole('link', { name: 'Controls' }).click();
          await page.getByText('Not for your role').first().waitFor();
          await page.getByText('UNAUTHENTICATED').first().waitFor();
          expect(await page.getByText('Sign in again').count()).toBe(0);
          expect(await page.getByRole('table').count()).toBe(0);
        } finally {
          await admin(path, 'POST', { issuer, subject });
        }
        await page.goto(register());
        await page.getByRole('table', { name: 'Risk register' }).waitFor();
      });
    }, 60_000);

    it('a service hangs: the page waits, reports the timeout, and works again when the service is back', async () => {
      await stack().visitAlone('owner', register(), async (page) => {
        await page.addInitScript({ content: SHORT_WAITS });
        await page.reload();
        await page.getByRole('table', { name: 'Risk register' }).waitFor();
        await held(risks().pid, async () => {
          await page.getByRole('link', { name: 'Assets' }).click();
          await page.getByRole('status').getByText('Loading').first().waitFor();
          await page.getByText('the service takes longer than usual').first().waitFor();
          await page.getByText('NO_ANSWER').first().waitFor();
          expect(await page.evaluate('askedMs.at(-1)')).toBe(GIVEN_UP_MS);
          expect(await page.getByRole('navigation', { name: 'Pages of Risks' }).getByRole('link').count()).toBe(10);
        });
        await page.getByRole('button', { name: 'Try again' }).first().click();
        await page.getByRole('table', { name: 'Assets' }).waitFor();
      });
    }, 120_000);

    it('a change gets no answer: it is not reported as failed, and its input stays', async () => {
      await stack().visit('owner', `${register()}/new`, async (page) => {
        await page.getByLabel('Title').fill('Did it arrive?');
        await page.getByLabel('Category').fill('story');
        for (const name of ['Likelihood', 'Impact']) {
          await page.getByRole('combobox', { name }).first().click();
          await page.getByRole('option').first().click();
        }
        await page.route('**/api/risk-partner/api/risks', (route) =>
          route.request().method() === 'POST' ? route.abort('connectionreset') : route.continue(),
        );
        await page.getByRole('button', { name: 'Create' }).click();
        await page.getByText('It is not known whether the change was made').waitFor();
        expect(await page.getByLabel('Title').inputValue()).toBe('Did it arrive?');
      });
    }, 60_000);

    it('the provider is down: a sign-in reports it and can be retried, and existing sessions go on', async () => {
      await stack().visit('owner', register(), async (page) => {
        await page.getByRole('table', { name: 'Risk register' }).waitFor();
        await stack().visitAlone(undefined, '/sign-in?returnTo=/risks', async (other) => {
          const wayBack = await signedAs(other, 'demo-viewer');
          await held(stack().providerPid, async () => {
            await other.goto(wayBack);
            await other.getByText('The identity provider is unreachable').waitFor();
            await page.getByRole('link', { name: 'Controls' }).click();
            await page.getByRole('table', { name: 'Controls' }).waitFor();
          });
          await other.getByRole('link', { name: 'Sign in again' }).click();
          await other.click('button[value=demo-viewer]');
          await other.waitForURL((at) => at.origin === stack().url);
          await other.getByRole('heading', { level: 1 }).waitFor();
        });
      });
    }, 120_000);
  });
}
