/** A list counts its rows up to here. */
const COUNTED_ROWS = 10_000;
/** How many rows to count at most: one more tells that there are more. */
export const COUNT_LIMIT = COUNTED_ROWS + 1;

/** The total of a list: exact up to 10,000. */
export type Total = number | '10000+';

/** The total of a list of which `counted` rows were found, COUNT_LIMIT at most. */
export const totalOf = (counted: number): Total => (counted > COUNTED_ROWS ? `${COUNTED_ROWS}+` : counted);
