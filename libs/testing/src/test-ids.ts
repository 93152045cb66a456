/** Ids that count: `newId('key_')` gives `key_000001`, and the next one of any prefix `..._000002`. They sort by age. */
export function testIds(): (prefix: string) => string {
  let made = 0;
  return (prefix) => {
    made += 1;
    return `${prefix}${String(made).padStart(6, '0')}`;
  };
}
