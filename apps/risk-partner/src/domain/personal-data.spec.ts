import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { canonical } from '@sealgate/json';
import { withoutPersonalData } from './partner-item.ts';
import { mayHoldPersonalData } from './may-hold-personal-data.ts';
import { holdsPersonalData, refusePersonalData } from './personal-data.ts';

const PERSONAL = [
  'Ask ada.lovelace@example.org',
  'ünal@beispiel.de',
  'mailto:a+b@c.example.co.uk.',
  'Call +49 30 12345678',
  'Call +1-202-555-0143.',
  '+4915112345678',
  '(+44.20.7946.0958)',
  'SSN 078-05-1120',
  'SSN:987-65-4321',
  'Card 4111 1111 1111 1111',
  'Card 4111-1111-1111-1111 of somebody',
  '4111111111111111',
  '5500000000000004 and more',
  'Amex 3782 822463 10005',
  'Ticket 7 4111 1111 1111 1111 2026',
  'IBAN DE89 3704 0044 0532 0130 00',
  'GB82WEST12345698765432',
  'Pay to FR14 2004 1010 0505 0001 3M02 606 please',
  'Call +1 (202) 555-0143',
  '+49 (0) 30 1234567',
  'Call +49\u00a030\u00a012345678',
  'Call +49\u202f30\u200912345678',
  '＋４９ ３０ １２３４５６７８',
  '+٤٩ ٣٠ ١٢٣٤٥٦٧٨',
  '+49 30 1234\u200b5678',
  'SSN 078.05.1120',
  'SSN 078 05 1120.',
  'SSN 078\u00a005\u00a01120',
  'SSN 078–05–1120',
  'SSN ０７８-０５-１１２０',
  'Card 4111.1111.1111.1111',
  'Card 4111\u00a01111\u00a01111\u00a01111',
  'Card 4111\u30001111\u30001111\u30001111',
  'Card 4111\u20111111\u20111111\u20111111',
  'Amex 3782.822463.10005',
  'Card ４１１１１１１１１１１１１１１１',
  'Ask ada＠example.org',
  'Ask ａｄａ＠ｅｘａｍｐｌｅ．ｏｒｇ',
  'Ask ada﹫example.org',
  'ada@exam\u00adple.org',
  'ada\u200e@example.org',
  'ada@e\ufe0fxample.org',
  'ada@ex\u034fample.org',
  'ada@bu\u0308cher.example',
  'ada@example\u2024org',
  '+49\u20663012345678',
  '4\u0336111 1111 1111 1111',
  'Card 4111\u200e1111\u200e1111\u200e1111',
  'Card 4111\u034f1111\u034f1111\u034f1111',
  'Card 4111\u061c1111\u061c1111\u061c1111',
  'DE89\u200e370400440532013000',
  'iban de89370400440532013000',
  'iban de89 3704 0044 0532 0130 00 of somebody',
  'De89 3704 0044 0532 0130 00',
  'gb82west12345698765432',
  'DE89.3704.0044.0532.0130.00',
  'DE89-3704-0044-0532-0130-00',
  'DE89\u00a03704\u00a00044\u00a00532\u00a00130\u00a000',
  'ＤＥ８９３７０４００４４０５３２０１３０００',
  'fr14 2004 1010 0505 0001 3m02 606',
];

const HARMLESS = [
  'Zürich edge — «€»',
  'express@5.3.0',
  '@sealgate/http',
  'root@host',
  'Review of 2026-01-05 2026-02-05 2026-03-05',
  '2026-01-05T10:11:12.123Z',
  'Version 10.2.4111111111111111',
  '0.4111111111111111',
  'Server 192.168.100.200 and 2001:db8:85a3::8a2e:370:7334',
  'ISO 27001:2022 A.5.1, SOC 2, PCI-DSS 4.0',
  'Grew by +12 % to +1234567',
  '+1234567890123456',
  '+12  345  678  90',
  'Order 4111 1111 1111 1112',
  '4111111111111112',
  'a4111111111111111b',
  '0000000000000000',
  'Case 078-05-11201',
  'x-078-05-1120',
  'DE89 3704 0044 0532 0130 01',
  'GB82 is a road',
  'd2f1e0a94111111111111111c0ffee',
  'Review of 2026.01.05, 05.01.2026 and 05.01.2026 10.11.12',
  'Reviews of 2026\u00a001\u00a005 2026\u00a002\u00a005',
  'From 2024–2025 to 2026 – 2027',
  'Windows 10.0.19045.4170, Chrome 120.0.6099.71, Ubuntu 24.04.1',
  'Hosts 10.0.0.1, 192.168.100.200/24 and 255.255.255.255',
  'OID 1.3.6.1.4.1.311.60.2.1.3',
  'Loss of 1.234.567.890.123,45 EUR',
  'Loss of 100.000.000.000.000',
  'Since 1.100.05.1120.3',
  'Section 666.05.1120, 000 05 1120 and 900.05.1120',
  'Rack 078.05.11201',
  'commit de12ab34cd56ef7890ab12cd34ef56ab78cd90ef',
  'node ip12-eu-west-1a and db01.prod.example',
  'ab12cdefghijklmnop to cd34efghijklmnopqrst',
  'xx89370400440532013000',
  'de89370400440532013',
  'id 019a8b7c-6d5e-7f40-8a9b-0c1d2e3f4a5b',
  '第７章 二〇二六年',
  'Cafe\u0301 \u2066A.1\u2069 ☎\ufe0f',
  '',
  'backup 1795914726397',
  'backup 1795914726397 1795914726405',
  'run 20261128011602',
  'Release 9780306406157', // EAN-13 of a book.
  'Order 820982911946154508',
  'Phone 490154203237518', // IMEI, with a Luhn digit.
  'Ticket 1000 0000 0000 0008', // Luhn, but no issuer.
  '0000 0000 0000 0000',
  'AB12CDEFGHIJKLMNOPQ',
  'XX89370400440532013000',
  'DE8937040044053201300',
];

/** Numbers that the issuers or their processors publish for tests. */
const TEST_CARDS = {
  visa: ['4111111111111111', '4012888888881881', '4222222222222', '4000056655665556'],
  mastercard: ['5555555555554444', '5105105105105100', '2223003122003222', '2221000000000009', '2720992593319364'],
  amex: ['378282246310005', '371449635398431', '341111111111111'],
  discover: ['6011111111111117', '6011000990139424', '6445644564456445', '6500000000000002'],
  diners: ['30569309025904', '38520000023237', '36227206271667', '3095000000000000'],
  jcb: ['3530111333300000', '3566002020360505', '3528000700000000', '3589000000000003'],
  unionPay: ['6200000000000005', '6205500000000000004'],
  maestro: ['6759649826438453', '6304000000000000', '5018000000000009', '6771798025000004', '6799990100000000019'],
};

describe('personal data', () => {
  it.each(PERSONAL)('is found in %j', (text) => {
    expect(holdsPersonalData(text)).toBe(true);
    // Texts excluded by the first check are not scanned further.
    expect(mayHoldPersonalData(canonical({ title: text }))).toBe(true);
  });
  it.each(HARMLESS)('is not found in %j', (text) => expect(holdsPersonalData(text)).toBe(false));

  it.each(Object.entries(TEST_CARDS))(
    'is found in the test cards of %s, in one run and in groups',
    (_issuer, cards) => {
      for (const card of cards)
        for (const text of [card, `Card ${card}.`, card.replaceAll(/(\d{4})(?=\d{3})/g, '$1 '), `(${card})`])
          expect([text, holdsPersonalData(text), mayHoldPersonalData(canonical({ title: text }))]).toEqual([
            text,
            true,
            true,
          ]);
      for (const card of cards)
        for (const text of [`x${card}`, `${card}x`, `1${card}`, `_${card}`])
          if (text.length !== 17) expect([text, holdsPersonalData(text)]).toEqual([text, false]);
    },
  );

  it('is not found in times in milliseconds from 2000 to 2100', () => {
    const moment = fc.integer({ min: Date.UTC(2000), max: Date.UTC(2101) - 1 });
    fc.assert(
      fc.property(moment, (ms) => {
        for (const text of [`backup ${ms}`, String(ms), `${ms}-${ms}`, `dump.${ms}.gz`])
          expect([text, holdsPersonalData(text)]).toEqual([text, false]);
      }),
      { numRuns: 5000 },
    );
    // With a Luhn digit and the prefix of Visa: 2096 to 2100.
    expect(holdsPersonalData('backup 4000000000006')).toBe(false);
  });

  it('is not found in stamps of 14 and 17 digits from 2000 to 2100', () => {
    const moment = fc.integer({ min: Date.UTC(2000), max: Date.UTC(2101) - 1 });
    fc.assert(
      fc.property(moment, (ms) => {
        const [year, month, day, ...time] = new Date(ms).toISOString().split(/[-T:.Z]/);
        const [hour, minute, second, fraction] = time;
        const clock = `${hour}${minute}${second}`;
        for (const stamp of [
          `${year}${month}${day}${clock}`,
          `${year}${month}${day}${clock}${fraction}`,
          `${day}${month}${year}${clock}`,
        ])
          for (const text of [`run ${stamp}`, stamp, `dump-${stamp}.sql`])
            expect([text, holdsPersonalData(text)]).toEqual([text, false]);
      }),
      { numRuns: 5000 },
    );
  });

  it('is found at any position between other words', () => {
    const word = fc.stringMatching(/^[a-zäß]{1,8}$/);
    fc.assert(
      fc.property(
        fc.array(word, { maxLength: 4 }),
        fc.constantFrom(...PERSONAL),
        fc.array(word, { maxLength: 4 }),
        (a, hit, b) => {
          const text = [...a, hit, ...b].join(' ');
          expect(holdsPersonalData(text)).toBe(true);
          expect(mayHoldPersonalData(canonical({ title: text }))).toBe(true);
        },
      ),
    );
  });

  it('is never found where mayHoldPersonalData finds nothing', () => {
    const piece = fc.constantFrom(
      '4111 1111 1111 1111',
      '+49 30 1234567',
      'a@b.cd',
      '078-05-1120',
      'DE89',
      'de89370400440532013000',
      'gb82 west 1234 5698 7654 32',
      '078 05 1120',
      '4111.1111.1111.1111',
      '3704',
      '０７８',
      '４１１１',
      '＠',
      '+٤٩',
      '\u00a0',
      '\u2013',
      '\u200b',
      '\u3000',
      '—',
      '\u0001',
      ' ',
      '-',
      '.',
      'x',
      '"',
      '\\',
      '\n',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
        const text = pieces.join('');
        if (holdsPersonalData(text)) expect(mayHoldPersonalData(canonical({ title: text }))).toBe(true);
      }),
      { numRuns: 2000 },
    );
  });

  it('is searched for in time linear in the text', () => {
    const nasty = ['1 '.repeat(5000), '+'.repeat(5000), 'a@'.repeat(5000), 'AB12 '.repeat(2000), '1234-'.repeat(2000)];
    const began = performance.now();
    for (const text of nasty) holdsPersonalData(text.slice(0, 500));
    expect(performance.now() - began).toBeLessThan(500);
  });

  it('is refused with the pointer of each member that contains it, never quoted', () => {
    const fields = {
      '/title': 'Ask a@b.org',
      '/refId': null,
      '/category': 'ops',
      '/name': undefined,
      '/x': '078-05-1120',
    };
    expect(() => refusePersonalData(fields)).toThrow(
      expect.objectContaining({
        code: 'PERSONAL_DATA_REFUSED',
        faults: [
          { in: 'body', pointer: '/title', detail: 'looks like personal data' },
          { in: 'body', pointer: '/x', detail: 'looks like personal data' },
        ],
      }),
    );
    expect(() => refusePersonalData({ '/title': 'Fine' })).not.toThrow();
  });
});

describe('an item from before personal data was refused', () => {
  const old = canonical({
    id: 'rsk_078-05-1120',
    title: 'Ask a@b.org',
    refId: 'R-1',
    category: 'ops',
    createdAt: '2026-01-01T00:00:00.000Z',
  });

  it('is shown with null for each member that contains some, and reported without the text', () => {
    const told: string[][] = [];
    const shown = withoutPersonalData('risks', old, (...about) => told.push(about));
    expect(JSON.parse(shown)).toEqual({ ...(JSON.parse(old) as object), title: null });
    expect(shown).toBe(canonical(JSON.parse(shown)));
    expect(told).toEqual([['risks', 'rsk_078-05-1120', 'title']]);
  });

  it('is shown where only rules of older versions found something: times and stamps', () => {
    const text = canonical({ id: 'ast_1', name: 'backup 1795914726397', refId: '20261128011602' });
    expect(withoutPersonalData('assets', text, () => expect('nothing').toBe('told'))).toBe(text);
  });

  it('keeps ids, hashes and times, which are not scanned', () => {
    const text = canonical({ id: 'a@b.org', sha256: '4111111111111111', title: 'Fine' });
    expect(withoutPersonalData('evidence', text, () => expect('nothing').toBe('told'))).toBe(text);
  });
});
