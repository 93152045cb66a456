import { testIssuer } from '@sealgate/testing';
import type { Made } from './demo-rows.ts';
import { refusalText } from './http-caller.ts';
import { testInstallation, type TestInstallation, type TestPerson } from './test-installation.ts';

const AUDIENCE = 'https://risk.example.com';
export const NO_SCOPE = { departments: [], canReadSensitive: false, unrestricted: false };

/** An installation with sign-in, and requests for the people of its organisations. */
export async function peopleSite() {
  let service: TestInstallation | undefined = undefined;
  const provider = await testIssuer({ audience: AUDIENCE, now: () => Date.now() + (service?.skewMs ?? 0) });
  const made = await testInstallation({
    PUBLIC_URL: 'https://risk.example.com',
    CONSOLE_URL: 'https://console.example.com',
    OIDC_ISSUERS: JSON.stringify([{ issuer: provider.issuer, audience: { api: [AUDIENCE] } }]),
  });
  service = made;
  const send = (method: string, path: string, by: TestPerson, body?: unknown) =>
    made.api.send(method, `/api/people${path}`, { key: by.key, ...(body !== undefined && { body }) });
  let addresses = 0;
  return {
    service: made,
    provider,
    send,
    refusal: (...sent: Parameters<typeof send>) => refusalText(send(...sent)),
    read: async (path: string, by: TestPerson) => (await send('GET', path, by)).json as Made,
    invite: async (body: object, by: TestPerson) => (await send('POST', '/invitations', by, body)).json as Made,
    /** The response to a request with this id, so that errors are comparable. */
    async same(method: string, path: string, { key }: TestPerson, body?: unknown) {
      const headers = { 'x-request-id': 'same' };
      const answer = await made.api.send(method, `/api/people${path}`, {
        key,
        headers,
        ...(body !== undefined && { body }),
      });
      return `${answer.status} ${answer.text}`;
    },
    /** A new e-mail address. */
    address: () => `person${(addresses += 1)}@example.com`,
    /** Asks who they are, as somebody with a verified address. */
    async signIn(email: string, claims: object = {}) {
      const token = await provider.token({ sub: `sub of ${email}`, email, email_verified: true, ...claims });
      const answer = await made.api.get('/api/whoami', token);
      return { token, status: answer.status, json: answer.json as Made };
    },
    /** Action, actor and resource of audit events, newest first. */
    actions: async ({ key }: TestPerson) =>
      ((await made.api.get('/api/audit?limit=200', key)).json as Made[]).map(
        ({ action, actorId, resourceId }) => [action, actorId, resourceId] as const,
      ),
    async newMembers() {
      const orgId = await made.newOrg('Acme');
      const person = (role: string) => made.newPerson(orgId, [role]);
      return { orgId, owner: await person('owner'), admin: await person('admin'), auditor: await person('auditor') };
    },
    async stop() {
      await made.stop();
      await provider.stop();
    },
  };
}
