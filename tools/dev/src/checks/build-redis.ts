import { builtRedisFolder } from '@sealgate/local-services';
import { runCommand } from './run-command.ts';

const script = `
const { RedisBinary } = await import('redis-memory-server');
await RedisBinary.getPath({ downloadDir: process.argv[1], version: 'stable' });
`;

/**
 * Builds a Redis from its source, once, for machines that have none; it needs the internet and a C compiler.
 * Gives undefined when it worked, else the reason in a few words.
 */
export async function buildRedis(): Promise<string | undefined> {
  process.stdout.write('There is no redis-server on the PATH: building one from source, once (a few minutes).\n');
  const nodeArguments = ['--input-type=module', '--eval', script, builtRedisFolder];
  const { ok, said } = await runCommand({ nodeArguments, timeoutMs: 8 * 60_000, output: 'kept' });
  if (ok) return undefined;
  return (
    said
      .split('\n')
      .find((line) => /error/i.test(line))
      ?.trim() ?? 'it took too long'
  );
}
