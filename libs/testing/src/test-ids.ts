/** Sequential ids: `newId('key_')` returns `key_000001`, the next one of any prefix `..._000002`. They sort by age. */
export function testIds(): (prefix: string) => string {
  let made = 0;
  return (prefix) => {
    made += 1;
    return `${prefix}${String(made).padStart(6, '0')}`;
  };
}
