/**
 * The text with what could move the cursor, start a line or turn the direction of writing replaced: names and labels
 * were chosen by others, and are shown on an operator's terminal.
 */
export function printable(text: string): string {
  // eslint-disable-next-line no-control-regex -- control characters are what is being replaced
  return text.replaceAll(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '\ufffd');
}

/** The same for text of several lines: a line feed stays. */
export function printableLines(text: string): string {
  return text.split('\n').map(printable).join('\n');
}
