import { describe, expect, it } from '@jest/globals';
import { DatabaseError } from 'pg';
import { connectFailure, isUniqueViolation, NeverSentError, statementFailure, refusalCode } from './database-errors.ts';
import { DatabaseUnavailableError } from './database-unavailable-error.ts';

const refusal = (code: string, severity = 'ERROR'): DatabaseError =>
  Object.assign(new DatabaseError('refused', 0, 'error'), { code, severity });
const broken = new Error('Connection terminated unexpectedly');

/** 'passes', or what the DatabaseUnavailableError says; then whether the statement may be sent again. */
const fate = (error: unknown, cause?: Error): unknown[] => {
  const failure = statementFailure(error, cause);
  const told = failure.error === error ? 'passes' : failure.error;
  return [told instanceof DatabaseUnavailableError ? told.sent : told, failure.neverSent, failure.reusable];
};

describe('statementFailure', () => {
  it.each(['08000', '08006', '08P01', '57P01', '57P02', '57P03', '57P04', '53300', '53400'])(
    'takes a fatal %s for a statement that may have taken effect',
    (code) => expect(fate(refusal(code, 'FATAL'))).toEqual([true, false, false]),
  );

  it('knows that a server which had grown tired of waiting did not read the statement', () => {
    expect(fate(refusal('57P05', 'FATAL'))).toEqual([false, true, false]);
  });

  it('knows that an ERROR has undone its statement, which is not to be sent again for that', () => {
    expect(fate(refusal('53400'))).toEqual([false, false, true]);
  });

  it.each(['23505', '57014', '40001', '57000'])('lets %s pass', (code) => {
    expect(fate(refusal(code))).toEqual(['passes', false, true]);
  });

  it.each(['42P01', '42703', '42883', '42501', '3F000'])('is a refusal that changed nothing for %s', (code) => {
    const failure = statementFailure(refusal(code), undefined);
    expect(failure).toMatchObject({ error: { name: 'DatabaseRefusedError', code, sent: false }, reusable: true });
  });

  it.each(['53100', '53200', '58030'])(
    'is unavailable and undone where the server ran out of something (%s)',
    (code) => {
      expect(fate(refusal(code))).toEqual([false, false, true]);
    },
  );

  it('is unavailable and undone where the server takes no writes, and does not keep its connection', () => {
    expect(fate(refusal('25006'))).toEqual([false, false, false]);
  });

  it('gives up a connection whose session the server has ended', () => {
    expect(fate(refusal('25P03', 'FATAL'))).toEqual(['passes', false, false]);
  });

  it.each(['26000', '42P05', '0A000'])('gives up a connection whose prepared statements are in doubt (%s)', (code) => {
    expect(fate(refusal(code))).toEqual(['passes', false, false]);
  });

  it('takes a lost connection for a statement that may have taken effect', () => {
    expect(fate(broken, broken)).toEqual([true, false, false]);
    const reset = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET', syscall: 'read' });
    expect(fate(reset, reset)).toEqual([true, false, false]);
  });

  it.each(['EPIPE', 'ECONNRESET'])('knows that a failed write (%s) has not carried the whole statement', (code) => {
    const error = Object.assign(new Error(`write ${code}`), { code, syscall: 'write' });
    expect(fate(error, error)).toEqual([false, true, false]);
  });

  it('knows that nothing is sent over a connection that was broken before', () => {
    expect(fate(new NeverSentError(broken), broken)).toEqual([false, true, false]);
  });

  it('lets a bug of this process pass, and does not trust the connection after it', () => {
    expect(fate(new TypeError('Converting circular structure to JSON'))).toEqual(['passes', false, false]);
  });
});

describe('connectFailure', () => {
  it.each(['53300', '57P03', '08004'])('is unavailable and not sent for %s', (code) => {
    expect(connectFailure(refusal(code, 'FATAL'))).toMatchObject({ name: 'DatabaseUnavailableError', sent: false });
  });

  it('is unavailable and not sent for whatever the socket met, and keeps it as the cause', () => {
    const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    expect(connectFailure(refused)).toMatchObject({ sent: false, cause: refused });
    expect(connectFailure(undefined)).toMatchObject({ sent: false });
  });

  it.each(['28P01', '3D000', '28000', '42501'])('is a refusal, not sent, for %s', (code) => {
    const cause = refusal(code, 'FATAL');
    expect(connectFailure(cause)).toMatchObject({ name: 'DatabaseRefusedError', code, sent: false, cause });
  });

  it('lets pass what else the server says', () => {
    const error = refusal('22023', 'FATAL');
    expect(connectFailure(error)).toBe(error);
  });
});

describe('refusalCode', () => {
  it('finds what the server refuses in an error of pg, of ours and of Prisma', () => {
    expect(refusalCode(refusal('42501'))).toBe('42501');
    expect(refusalCode(connectFailure(refusal('28P01', 'FATAL')))).toBe('28P01');
    expect(refusalCode(new Error('cannot', { cause: refusal('25006') }))).toBe('25006');
    const driverAdapterError = Object.assign(new Error('x'), {
      cause: { kind: 'TableDoesNotExist', originalCode: '42P01' },
    });
    expect(refusalCode(Object.assign(new Error('P2021'), { code: 'P2021', meta: { driverAdapterError } }))).toBe(
      '42P01',
    );
  });

  it('finds none in what is no such refusal', () => {
    for (const error of [refusal('23505'), new Error('x'), undefined, null, 'text', { meta: null, cause: null }]) {
      expect(refusalCode(error)).toBeUndefined();
    }
  });
});

describe('isUniqueViolation', () => {
  it('is about one SQLSTATE and, where asked, one constraint', () => {
    const error = Object.assign(refusal('23505'), { constraint: 'api_keys_key_hash_key' });
    expect(isUniqueViolation(error)).toBe(true);
    expect(isUniqueViolation(error, 'api_keys_key_hash_key')).toBe(true);
    expect(isUniqueViolation(error, 'api_keys_pkey')).toBe(false);
    expect(isUniqueViolation(refusal('23503'))).toBe(false);
    expect(isUniqueViolation({ code: '23505' })).toBe(false);
    expect(isUniqueViolation(undefined)).toBe(false);
  });
});
