/**
 * Run directly by Node. Prints the time for ordinary bodies, and the stall that each hostile body of 1 MiB and 8 MiB
 * causes.
 */
import { AppError } from '@sealgate/errors';
import { canonical, canonicalHash } from './canonical.ts';
import { nastyBodies } from './nasty-bodies.ts';
import { parseStrict, soundBody } from './parse-strict.ts';

const MIB = 1024 * 1024;
/** Twice the goal of 50 ms per MiB, because the machine may be busy. */
const BOUND_MS_PER_MIB = 100;
const ROUNDS = 9;

const record = {
  id: 'inv-2024-000123',
  type: 'invoice',
  owner: 'acme-emea',
  data: {
    amount: 1234.5,
    currency: 'EUR',
    lines: [
      { sku: 'A-1', quantity: 2 },
      { sku: 'B-22', quantity: 10 },
    ],
    note: 'delivered to the north gate',
    paid: false,
    customer: { id: 'c-991', priority: true },
    at: '2026-01-02T03:04:05.678Z',
  },
};

function nanoseconds(repeats: number, work: () => unknown): number {
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round <= ROUNDS; round++) {
    const start = performance.now();
    for (let repeat = 0; repeat < repeats; repeat++) work();
    best = Math.min(best, performance.now() - start);
  }
  return Math.round((best * 1e6) / repeats);
}

function cleanBody(name: string, value: unknown, repeats: number): Record<string, number | string> {
  const text = JSON.stringify(value);
  const bytes = Buffer.from(text);
  const blanks = Buffer.from(text.replaceAll('":', '": '));
  const parsed = parseStrict(bytes);
  const ordered = parseStrict(Buffer.from(canonical(parsed)));
  return {
    body: `${name}, ${bytes.length} bytes`,
    'JSON.parse + JSON.stringify': nanoseconds(repeats, () => JSON.stringify(JSON.parse(bytes.toString()))),
    validate: nanoseconds(repeats, () => soundBody(bytes)),
    parseStrict: nanoseconds(repeats, () => parseStrict(bytes)),
    'with blanks': nanoseconds(repeats, () => parseStrict(blanks)),
    'JSON.stringify': nanoseconds(repeats, () => JSON.stringify(parsed)),
    canonical: nanoseconds(repeats, () => canonical(parsed)),
    'canonical, sorted': nanoseconds(repeats, () => canonical(ordered)),
    canonicalHash: nanoseconds(repeats, () => canonicalHash(parsed)),
  };
}

function nastyBody(name: string, text: string): Record<string, number | string> {
  const bytes = Buffer.from(text);
  let outcome = 'clean';
  let value;
  const times: number[] = [];
  for (let round = 0; round < 3; round++) {
    const start = performance.now();
    try {
      value = parseStrict(bytes);
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      outcome = error.code;
    }
    times.push(performance.now() - start);
  }
  const start = performance.now();
  if (value !== undefined) canonical(value);
  const canonicalMs = performance.now() - start;
  const worstMs = Math.max(...times);
  const bound = (BOUND_MS_PER_MIB * bytes.length) / MIB;
  return {
    body: name,
    KiB: Math.round(bytes.length / 1024),
    outcome,
    'first ms': (times[0] ?? 0).toFixed(1),
    'best ms': Math.min(...times).toFixed(1),
    'canonical ms': canonicalMs.toFixed(1),
    '': worstMs > bound ? `OVER ${bound.toFixed(0)}` : '',
  };
}

const batch = { assets: Array.from({ length: 100 }, (_, index) => ({ ...record, id: `inv-2024-${index}` })) };
console.log('Nanoseconds per call, best of ten rounds');
console.table([cleanBody('a record', record, 20_000), cleanBody('a batch of 100', batch, 200)]);
for (const size of [MIB, 8 * MIB]) {
  console.log(`Milliseconds, bodies of ${size / MIB} MiB`);
  console.table(nastyBodies(size).map(({ name, text }) => nastyBody(name, text)));
}
const started = performance.now();
try {
  parseStrict(Buffer.alloc(500_000, '['));
} catch {
  console.log(`Half a million openers: refused in ${(performance.now() - started).toFixed(2)} ms`);
}
