import { describe, expect, it } from '@jest/globals';
import { explainOutput, runCommand, wordsOf } from './run-command.ts';

const shell = (script: string, timeoutMs?: number) =>
  runCommand({
    program: '/bin/sh',
    parameters: ['-c', script],
    env: {},
    title: 'the test',
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  });

describe('a command', () => {
  it('returns its output', async () => {
    expect(await shell('echo one; echo two >&2')).toBe('one\n');
  });

  it('reports the error of a failed command, not the usage printed after it', async () => {
    await expect(shell('echo "Error: no such channel" >&2; echo "Usage: peer ..." >&2; exit 1')).rejects.toThrow(
      'the test failed: Error: no such channel',
    );
  });

  it('is killed after its timeout', async () => {
    await expect(shell('exec sleep 60', 100)).rejects.toThrow('the test did not end within 0.1 seconds');
  });

  it('reports a missing program', async () => {
    await expect(
      runCommand({ program: '/nowhere/peer', parameters: [], env: {}, title: 'peer version' }),
    ).rejects.toThrow(/^peer version failed: .*ENOENT/);
  });
});

describe('the relevant line of a log', () => {
  it('is the last error line, without colours', () => {
    const escape = String.fromCharCode(27);
    const log = `${escape}[34mINFO${escape}[0m started\n${escape}[31mpanic: cannot open\nmain.go:12\n\n`;
    expect(wordsOf(log)).toBe('panic: cannot open');
  });

  it('is the last line if there is no error line, and undefined if there is none', () => {
    expect(wordsOf('one\ntwo\n\n')).toBe('two');
    expect(wordsOf(' \n')).toBeUndefined();
  });

  it('starts with a full disk', () => {
    expect(explainOutput('orderer ended: open x: no space left on device')).toMatch(
      /^The disk is full\. orderer ended/,
    );
  });
});
