const two = (value: number): string => String(value).padStart(2, '0');

/** An instant as the value of `datetime-local`: in the reader's time zone, cut to the minute. */
export function localTime(instant: string | number): string {
  const at = new Date(instant);
  const day = [String(at.getFullYear()).padStart(4, '0'), two(at.getMonth() + 1), two(at.getDate())].join('-');
  return `${day}T${two(at.getHours())}:${two(at.getMinutes())}`;
}
