import { runCommand, type CommandResult } from './checks/run-command.ts';
import { programs } from './workspace.ts';

/**
 * Makes the typed database clients of these apps from their Prisma schemas. Prisma would download a schema engine that
 * generating does not use; naming any file that exists as that engine keeps it from trying.
 */
export async function generateClients(apps: readonly string[]): Promise<CommandResult> {
  for (const name of apps) {
    const result = await runCommand({
      nodeArguments: [programs.prisma, 'generate', '--schema', `apps/${name}/prisma/schema.prisma`],
      env: { PRISMA_SCHEMA_ENGINE_BINARY: process.execPath, PRISMA_HIDE_UPDATE_MESSAGE: '1', CHECKPOINT_DISABLE: '1' },
      timeoutMs: 120_000,
      output: 'kept',
    });
    if (!result.ok) return result;
  }
  return { ok: true, said: '' };
}
