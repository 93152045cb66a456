/** For people: "1 entry", "300 entries". */
export const entryCount = (count: number): string => (count === 1 ? '1 entry' : `${count} entries`);
