const TIME_DIGITS = 12;
const RANDOM_BYTES = 10;

/** Makes ids that sort by when they were made, to the millisecond: prefix, 12 digits of time, 20 of chance, in hex. */
export function timeOrderedId(now: () => number, random: (bytes: number) => Buffer): (prefix: string) => string {
  return (prefix) => {
    const time = Math.floor(now()).toString(16).padStart(TIME_DIGITS, '0');
    return `${prefix}${time}${random(RANDOM_BYTES).toString('hex')}`;
  };
}
