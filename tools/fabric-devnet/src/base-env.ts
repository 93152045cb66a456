/** Nothing of the caller's that would configure Fabric behind our back: CORE_ and ORDERER_ variables override its files. */
export function baseEnv(env: NodeJS.ProcessEnv): Record<string, string> {
  const kept = ['PATH', 'HOME', 'TMPDIR', 'LANG', 'FABRIC_LOGGING_SPEC'].flatMap((name) => {
    const value = env[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return { FABRIC_LOGGING_SPEC: 'info:gossip=warning', ...Object.fromEntries(kept) };
}
