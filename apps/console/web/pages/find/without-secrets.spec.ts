import { describe, expect, it } from '@jest/globals';
import { withoutSecrets } from './without-secrets.ts';

describe('the words of a search', () => {
  const secret = 'AbCdEfGhIjKlMnOpQrStUvWxYz0123456789-_AbCdE';

  it.each([
    [`gk_${secret}`, 'gk_AbCdEfGhI'],
    [`svc_${secret}`, 'svc_AbCdEfGh'],
    [`ingest_${secret}`, 'ingest_AbCdE'],
    [`X-Api-Key: gk_${secret}`, 'X-Api-Key: gk_AbCdEfGhI'],
    [`svc_${secret.slice(0, 30)}`, 'svc_AbCdEfGh'],
  ])('have of the key %s what lists show of it', (text, words) => expect(withoutSecrets(text)).toBe(words));

  it.each(['gk_AbCdEfGhI', 'subj_one', `evt_${'0'.repeat(32)}`, 'ingest_events', ''])('keep %p whole', (text) =>
    expect(withoutSecrets(text)).toBe(text),
  );
});
