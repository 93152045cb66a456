/** Digits of an id that we made: those of a UUIDv7, of which the first twelve are its time in milliseconds. */
export const DIGITS = 32;
const TIME_DIGITS = 12;

/** The 32 digits of an event id that we made; a uuid may be written so. */
export const digitsOf = (eventId: string): string | undefined => /^evt_([0-9a-f]{32})$/.exec(eventId)?.[1];

/** The least that an id of this moment can have. */
export const firstDigits = (at: Date): string =>
  at.getTime().toString(16).padStart(TIME_DIGITS, '0').padEnd(DIGITS, '0');

/** When an id with these digits was made. */
export const timeOfDigits = (digits: string): Date => new Date(Number.parseInt(digits.slice(0, TIME_DIGITS), 16));
