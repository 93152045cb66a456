/** The language of all texts, as a BCP 47 tag. */
export const language = 'en';

export const bytes = (count: string) => `${count} bytes`;
