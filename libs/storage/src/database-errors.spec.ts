import { describe, expect, it } from '@jest/globals';
import { DatabaseError } from 'pg';
import {
  connectFailure,
  DatabaseFullError,
  DatabaseRefusedError,
  DatabaseUnavailableError,
  isUniqueViolation,
  NeverSentError,
  refusalCode,
  statementFailure,
} from './database-errors.ts';

const refusal = (code: string, severity = 'ERROR'): DatabaseError =>
  Object.assign(new DatabaseError('refused', 0, 'error'), { code, severity });
const broken = new Error('Connection terminated unexpectedly');

/**
 * 'passes' or `sent` of the DatabaseUnavailableError; then whether the statement may be resent, and the connection
 * reused.
 */
const fate = (error: unknown, cause?: Error): unknown[] => {
  const failure = statementFailure(error, cause);
  const thrown = failure.error === error ? 'passes' : failure.error;
  return [thrown instanceof DatabaseUnavailableError ? thrown.sent : thrown, failure.neverSent, failure.reusable];
};

describe('statementFailure', () => {
  it('tells a disk that takes no writes from missing rights, which have the same code', () => {
    const said = (code: string, file: string, message: string) =>
      statementFailure(Object.assign(refusal(code), { file, message }), undefined).error;
    const readOnly = 'could not extend file "base/5/1259": Read-only file system';
    expect(said('42501', 'md.c', readOnly)).toBeInstanceOf(DatabaseFullError);
    expect(said('53100', 'fd.c', 'could not write to file: No space left on device')).toBeInstanceOf(DatabaseFullError);
    expect(said('42501', 'aclchk.c', 'permission denied for table Read-only file system')).toBeInstanceOf(
      DatabaseRefusedError,
    );
  });

  it.each(['08000', '08006', '08P01', '57P01', '57P02', '57P03', '57P04', '53300', '53400'])(
    'treats a statement that ended with a fatal %s as possibly done',
    (code) => expect(fate(refusal(code, 'FATAL'))).toEqual([true, false, false]),
  );

  it.each(['57P05', '25P03'])('treats an idle timeout of a session or a transaction (%s) as not sent', (code) => {
    expect(fate(refusal(code, 'FATAL'))).toEqual([false, true, false]);
  });

  it('treats a transaction timeout as possibly done', () => {
    expect(fate(refusal('25P04', 'FATAL'))).toEqual([true, false, false]);
  });

  it('treats an ERROR as undone, without a retry', () => {
    expect(fate(refusal('53400'))).toEqual([false, false, true]);
  });

  it.each(['23505', '40001', '57000'])('rethrows %s', (code) => {
    expect(fate(refusal(code))).toEqual(['passes', false, true]);
  });

  it.each(['42P01', '42703', '42883', '42501', '3F000'])('reports %s as a refusal that changed nothing', (code) => {
    const failure = statementFailure(refusal(code), undefined);
    expect(failure).toMatchObject({ error: { name: 'DatabaseRefusedError', code, sent: false }, reusable: true });
  });

  it.each(['53100', '53200', '58030'])('reports a server out of resources (%s) as unavailable and undone', (code) => {
    expect(fate(refusal(code))).toEqual([false, false, true]);
  });

  it('reports a read-only server as unavailable and undone, and drops its connection', () => {
    expect(fate(refusal('25006'))).toEqual([false, false, false]);
  });

  it('treats a cancelled statement as undone, without a retry', () => {
    expect(fate(refusal('57014'))).toEqual([false, false, true]);
  });

  it('drops a connection whose session the server has ended', () => {
    expect(fate(refusal('XX000', 'FATAL'))).toEqual(['passes', false, false]);
  });

  it.each(['26000', '42P05', '0A000'])('drops a connection whose prepared statements are out of step (%s)', (code) => {
    expect(fate(refusal(code))).toEqual(['passes', false, false]);
  });

  it('treats a statement on a lost connection as possibly done', () => {
    expect(fate(broken, broken)).toEqual([true, false, false]);
    const reset = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET', syscall: 'read' });
    expect(fate(reset, reset)).toEqual([true, false, false]);
  });

  it.each(['EPIPE', 'ECONNRESET'])('treats a failed write (%s) as not sent', (code) => {
    const error = Object.assign(new Error(`write ${code}`), { code, syscall: 'write' });
    expect(fate(error, error)).toEqual([false, true, false]);
  });

  it('treats a statement on a connection that was already broken as not sent', () => {
    expect(fate(new NeverSentError(broken), broken)).toEqual([false, true, false]);
  });

  it('rethrows a bug of this process and drops the connection', () => {
    expect(fate(new TypeError('Converting circular structure to JSON'))).toEqual(['passes', false, false]);
  });
});

describe('connectFailure', () => {
  it.each(['53300', '57P03', '08004'])('reports %s as unavailable and not sent', (code) => {
    expect(connectFailure(refusal(code, 'FATAL'))).toMatchObject({ name: 'DatabaseUnavailableError', sent: false });
  });

  it('reports any socket error as unavailable and not sent, with its cause', () => {
    const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    expect(connectFailure(refused)).toMatchObject({ sent: false, cause: refused });
    expect(connectFailure(undefined)).toMatchObject({ sent: false });
  });

  it.each(['28P01', '3D000', '28000', '42501'])('reports %s as a refusal, not sent', (code) => {
    const cause = refusal(code, 'FATAL');
    expect(connectFailure(cause)).toMatchObject({ name: 'DatabaseRefusedError', code, sent: false, cause });
  });

  it('rethrows other errors of the server', () => {
    const error = refusal('22023', 'FATAL');
    expect(connectFailure(error)).toBe(error);
  });
});

describe('refusalCode', () => {
  it('finds the SQLSTATE in an error of pg, of ours and of Prisma', () => {
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

  it('returns undefined for other errors', () => {
    for (const error of [refusal('23505'), new Error('x'), undefined, null, 'text', { meta: null, cause: null }]) {
      expect(refusalCode(error)).toBeUndefined();
    }
  });
});

describe('isUniqueViolation', () => {
  it('checks the SQLSTATE and, if given, the constraint', () => {
    const error = Object.assign(refusal('23505'), { constraint: 'api_keys_key_hash_key' });
    expect(isUniqueViolation(error)).toBe(true);
    expect(isUniqueViolation(error, 'api_keys_key_hash_key')).toBe(true);
    expect(isUniqueViolation(error, 'api_keys_pkey')).toBe(false);
    expect(isUniqueViolation(refusal('23503'))).toBe(false);
    expect(isUniqueViolation({ code: '23505' })).toBe(false);
    expect(isUniqueViolation(undefined)).toBe(false);
  });
});
